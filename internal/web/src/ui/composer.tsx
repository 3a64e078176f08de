import { useEffect, useRef, useState } from 'preact/hooks'
import * as api from '../api'
import type { Session } from '../api'
import { compose, draftOf, rememberSent } from '../composing'
import { Problem } from '../http'
import type { TerminalView } from '../term/view'
import { Close } from './icons'

const coarse = window.matchMedia('(pointer: coarse)')

/**
 * A plain text box, whose text goes to the program in one go. An agent that is
 * known to work or to be idle gets it as soon as no dialog is in the way; to
 * anything else it is sent only if nothing was printed since what is on the screen.
 */
export function Composer({ session, view }: { session: Session; view: TerminalView }) {
  const draft = draftOf(session.id)
  const [text, setText] = useState(draft.text)
  const [at, setAt] = useState(draft.sent.length) // of the texts that were sent; at their end it is the new one
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => box.current?.focus(), [])
  useEffect(() => {
    const area = box.current!
    area.style.height = 'auto'
    area.style.height = `${area.scrollHeight + 2}px`
  }, [text])
  const change = (next: string) => {
    draft.text = next
    setText(next)
    setError('')
  }
  const send = async () => {
    if (!text.trim() || busy) return
    if (view.link.holds) return setError('Keys that you typed before did not arrive, so nothing was sent. Read the bar in the terminal, press “Go on”, then send again.')
    setBusy(true)
    try {
      await api.sendPrompt(session.id, text, knows(session) ? undefined : view.seen())
      rememberSent(session.id, text)
      setText('')
      setAt(draft.sent.length)
      setError('')
    } catch (problem) {
      setError(why(problem))
    }
    setBusy(false)
    box.current?.focus()
  }
  const recall = (step: number) => {
    const next = Math.min(Math.max(at + step, 0), draft.sent.length)
    if (next === at) return
    setAt(next)
    change(draft.sent[next] ?? '')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const area = box.current!
    const alone = !text.includes('\n') || at < draft.sent.length
    const submits = event.key === 'Enter' && !event.isComposing && (event.ctrlKey || event.metaKey || (!event.shiftKey && !coarse.matches))
    if (submits) void send()
    else if (event.key === 'Escape') close()
    else if (event.key === 'ArrowUp' && alone && area.selectionStart === area.selectionEnd) recall(-1)
    else if (event.key === 'ArrowDown' && alone && at < draft.sent.length) recall(1)
    else return
    event.preventDefault()
  }
  const close = () => {
    compose(session.id, false)
    if (!coarse.matches) view.focus()
  }
  return (
    <form class="composer" aria-label={`Message to ${session.name}`} onSubmit={(e) => { e.preventDefault(); void send() }}>
      {error && <p class="problem" role="alert">{error}</p>}
      <div class="composer-row">
        <textarea ref={box} rows={1} aria-label="Message" placeholder={`Message to ${session.name}`} value={text} enterkeyhint={coarse.matches ? 'enter' : 'send'}
          onKeyDown={onKeyDown} onInput={(e) => change(e.currentTarget.value)} />
        <button type="submit" class="primary" disabled={busy || !text.trim()}>{busy ? 'Sending…' : 'Send'}</button>
        <button type="button" class="quiet square" aria-label="Close the message" onClick={close}><Close /></button>
      </div>
    </form>
  )
}

/** Whether the server can tell the agent's dialogs from its prompt. */
const knows = (s: Session) => s.agent !== undefined && ['working', 'idle', 'done'].includes(s.agent.state)

function why(problem: unknown): string {
  if (problem instanceof Problem && problem.code === 'screen-changed') return 'The screen has changed, so nothing was sent. Look at it, then send again.'
  return (problem as Error).message
}
