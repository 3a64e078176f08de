import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session, Workspace } from '../api'
import { Problem } from '../http'
import { sessionsOf, toast, useStore } from '../store'
import { Dialog, Field } from '../ui/dialog'
import { agentWords, visible, visibleLines } from '../words'
import { readScreen, sendPrompt } from './api'
import { messageOf } from './comments'
import type { Comment } from './comments'

interface Props {
  workspace: Workspace
  /** The session whose tab was open. */
  session?: string
  comments: Comment[]
  against: string
  onClose: () => void
  onSent: () => void
}

const shownRows = 10

/** Sends all comments as one message, to the screen that is shown here: if the program shows another one meanwhile, nothing is typed. */
export function SendComments({ workspace, session, comments, against, onClose, onSent }: Props) {
  useStore()
  const sessions = sessionsOf(workspace.id).filter((s) => s.state === 'running')
  const [to, setTo] = useState(() => best(sessions, session)?.id ?? '')
  const [text, setText] = useState(() => messageOf(comments, against))
  const [screen, setScreen] = useState<{ text: string; hash: string }>()
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)

  const chosen = useRef(to)
  chosen.current = to
  const look = async () => {
    try {
      const seen = to ? await readScreen(to) : undefined
      if (chosen.current === to) setScreen(seen) // else another session was chosen meanwhile
    } catch (problem) {
      if (chosen.current === to) setError((problem as Error).message)
    }
  }
  useEffect(() => {
    setScreen(undefined)
    setError('')
    void look()
  }, [to])

  const submit = async (event: Event) => {
    event.preventDefault()
    if (!screen) return
    setBusy(true)
    setError('')
    try {
      await sendPrompt(to, text, screen.hash)
      const s = sessions.find((s) => s.id === to)
      toast('info', `Sent to ${s ? `${s.workspace_name}/${s.name}` : 'the session'}.`)
      onSent()
    } catch (problem) {
      if (problem instanceof Problem && problem.code === 'screen-changed') {
        setError('The screen has changed since you saw it, so nothing was typed. This is the screen now: send it again if the message still fits.')
        await look()
      } else setError((problem as Error).message)
      setBusy(false)
    }
  }

  return (
    <Dialog title="Send comments" onClose={onClose}>
      <form onSubmit={submit}>
        {sessions.length === 0 ? <p class="problem">No session runs in this workspace, so nobody would read it.</p> : (
          <Field label="To">
            <select name="session" value={to} onChange={(e) => setTo(e.currentTarget.value)}>
              {sessions.map((s) => <option key={s.id} value={s.id}>{s.name}{agentWords(s) && ` · ${agentWords(s)}`}</option>)}
            </select>
          </Field>
        )}
        {screen && (
          <div class="field">
            <span class="label">Its screen now</span>
            <pre class="request seen" tabIndex={0} aria-label="The screen">{lastRows(screen.text) || ' '}</pre>
          </div>
        )}
        <Field label="Message">
          <textarea name="message" rows={9} value={text} onInput={(e) => setText(e.currentTarget.value)} />
        </Field>
        {error && <p class="problem" role="alert">{visible(error)}</p>}
        <footer>
          <button type="button" class="quiet" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={busy || !screen || !text.trim()}>{busy ? 'Sending…' : 'Send'}</button>
        </footer>
      </form>
    </Dialog>
  )
}

/** The session that was open, else an agent, else the first. */
const best = (sessions: Session[], open?: string) => sessions.find((s) => s.name === open) ?? sessions.find((s) => s.agent) ?? sessions[0]

const lastRows = (text: string) => visibleLines(text.trimEnd()).split('\n').slice(-shownRows).join('\n')
