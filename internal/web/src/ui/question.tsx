import { useEffect, useState } from 'preact/hooks'
import * as api from '../api'
import type { Session } from '../api'
import { compose } from '../composing'
import { Problem } from '../http'
import { useStore } from '../store'
import { choicesIn, screenLines } from '../term/options'
import type { Choice } from '../term/options'
import type { TerminalView } from '../term/view'
import { agentWords, needsYou, visible } from '../words'
import { show } from './overlay'

/** What the session's agent waits for, with the ways to answer it. */
export function Question({ session, view }: { session: Session; view: TerminalView }) {
  const { approvals } = useStore()
  const [error, setError] = useState('')
  const [choices, setChoices] = useState<Choice[]>([])
  const waits = needsYou(session) && session.agent?.state === 'waiting' && ['permission', 'question'].includes(session.agent.kind ?? '')
  useEffect(() => {
    if (!waits) return // each output of every session would be read
    const look = () => setChoices((before) => {
      const now = choicesIn(screenLines(view.terminal))
      return JSON.stringify(now) === JSON.stringify(before) ? before : now
    })
    look()
    const drawn = view.terminal.onWriteParsed(look)
    return () => drawn.dispose()
  }, [view, waits])
  const asked = [...approvals.values()].find((a) => a.session_id === session.id)
  if (asked) {
    return (
      <section class="question" aria-label="The agent asks to be allowed">
        <p><i class="dot needs" /><span>{asked.agent} asks: {visible(asked.summary)}</span></p>
        <div class="answers"><button class="primary" onClick={() => show({ is: 'approval', id: asked.id })}>Look and answer</button></div>
      </section>
    )
  }
  if (!waits) return null
  const answer = (key: string) =>
    api.typeExpecting(session.id, key, view.seen()).then(
      () => setError(''),
      (problem: unknown) => setError(problem instanceof Problem && problem.code === 'screen-changed'
        ? 'The screen has changed, so nothing was typed. Look at it, then answer again.' : (problem as Error).message))
  return (
    <section class="question by-touch" aria-label="The agent waits for you">
      <p><i class="dot needs" /><span>{agentWords(session)}</span></p>
      {error && <p class="problem" role="alert">{error}</p>}
      <div class="answers">
        {choices.map((c) => <button key={c.key} class="quiet outlined" onClick={() => void answer(c.key)}>{c.key}. {visible(c.text)}</button>)}
        <button class="quiet outlined" onClick={() => compose(session.id, true)}>Write…</button>
      </div>
    </section>
  )
}
