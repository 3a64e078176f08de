import { useState } from 'preact/hooks'
import * as api from '../api'
import { putApproval, toast, useStore } from '../store'
import { visible, visibleLines } from '../words'
import { Dialog } from './dialog'

/** Shows all of what an agent asks to be allowed, and answers it. */
export function AnswerApproval({ id, onClose }: { id: string; onClose: () => void }) {
  const { approvals } = useStore()
  const [error, setError] = useState('')
  const [reason, setReason] = useState('')
  const a = approvals.get(id)
  if (!a) return <Answered onClose={onClose} />
  const answer = (decision: 'allow' | 'deny') =>
    api.answerApproval(id, decision, reason).then(
      (answered) => { putApproval(answered); toast('info', `${a.summary}: ${answered.state}`); onClose() },
      (problem: Error) => setError(problem.message))
  return (
    <Dialog title={`${a.agent} in ${a.session} asks`} onClose={onClose}>
      <form method="dialog">
        <p class="lead">{visible(a.summary)}</p>
        <p class="hint">{a.rule}: {visible(a.reason)}</p>
        <div class="request" tabIndex={0} role="group" aria-label="The request">
          {a.diff && <pre><Diff text={visibleLines(a.diff)} /></pre>}
          <details open={!a.diff}>
            <summary>{visible(a.tool)}: all arguments</summary>
            <Arguments text={a.arguments} />
          </details>
        </div>
        <label class="field">
          <span class="label">With Deny: what the agent is told</span>
          <input value={reason} maxLength={1000} onInput={(e) => setReason(e.currentTarget.value)} />
        </label>
        {error && <p class="problem" role="alert">{error}</p>}
        <footer>
          <button type="button" class="quiet" autofocus onClick={onClose}>Later</button>
          <button type="button" class="danger" onClick={() => answer('deny')}>Deny</button>
          <button type="button" class="primary" onClick={() => answer('allow')}>Allow once</button>
        </footer>
      </form>
    </Dialog>
  )
}

function Answered({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="This request waits no more" onClose={onClose}>
      <form method="dialog">
        <p class="lead">It was answered elsewhere, or the agent asks in its own dialog.</p>
        <footer><button type="button" class="primary" autofocus onClick={onClose}>Close</button></footer>
      </form>
    </Dialog>
  )
}

function Diff({ text }: { text: string }) {
  return <>{text.split('\n').map((line, i) => <span key={i} class={{ '+': 'added', '-': 'removed' }[line[0]]}>{line + '\n'}</span>)}</>
}

/** A JSON object as names and values; the beginning of one stays as it is. */
function Arguments({ text }: { text: string }) {
  const fields = fieldsOf(text)
  if (!fields) return <pre>{visibleLines(text)}</pre>
  return (
    <dl class="arguments">
      {fields.map(([name, value]) => (
        <div key={name}><dt>{visible(name)}</dt><dd><pre>{visibleLines(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}</pre></dd></div>
      ))}
    </dl>
  )
}

function fieldsOf(text: string): [string, unknown][] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : undefined
  } catch {
    return undefined
  }
}
