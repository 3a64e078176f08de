import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { Session } from '../api'
import { Problem } from '../http'
import { isDark, onPrefs } from '../prefs'
import { getSession } from '../share'
import { viewOf } from '../term/views'
import { exitWords, visible } from '../words'
import { Logo } from './icons'

/** The page of somebody who may watch one session, and nothing else. */
export function Shared({ id }: { id: string }) {
  const [session, setSession] = useState<Session>()
  const [error, setError] = useState('')
  useEffect(() => {
    const apply = () => { document.documentElement.dataset.theme = isDark() ? 'dark' : 'light' }
    apply()
    return onPrefs(apply)
  }, [])
  const look = () => getSession(id).then(setSession, (problem: unknown) => {
    if (problem instanceof Problem && [401, 403, 404].includes(problem.status)) setError('This link is not valid: it has expired, it was revoked, or the session is gone. Ask for another one.')
    else if (!session) window.setTimeout(() => void look(), 2000)
  })
  useEffect(() => void look(), [])
  useEffect(() => { if (session) document.title = `${session.name} · ${session.workspace_name} · middleman` }, [session?.name])
  if (error) return <div class="empty whole" role="alert"><Logo /><h2>Nothing to watch</h2><p>{error}</p></div>
  if (!session) return <div class="empty whole" role="status"><i class="spinner" /><p class="hint">Connecting to the server…</p></div>
  return <Watched session={session} onCut={() => void look()} />
}

function Watched({ session, onCut }: { session: Session; onCut: () => void }) {
  const host = useRef<HTMLDivElement>(null)
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  const view = viewOf(session.id)
  useEffect(() => {
    view.link.watchOnly()
    return view.show(host.current!, () => {
      if (view.link.phase.is === 'disconnected') onCut() // perhaps for good
      redraw(undefined as never)
    })
  }, [])
  const { phase } = view.link
  return (
    <main class="workspace shared">
      <header class="bar">
        <Logo />
        <h1>{visible(session.workspace_name)}/{visible(session.name)}</h1>
        <span class="hint">{phase.is === 'exited' ? exitWords(phase.exit) : phase.is === 'disconnected' ? 'Disconnected. Reconnecting…' : 'You watch. What you type goes nowhere.'}</span>
      </header>
      <section class="pane" aria-label={`Terminal of ${session.name}`}>
        <div class="screen watching" ref={host} data-phase={phase.is} />
      </section>
    </main>
  )
}
