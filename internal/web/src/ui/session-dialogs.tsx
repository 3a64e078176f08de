import { useEffect, useState } from 'preact/hooks'
import * as api from '../api'
import type { Session, Workspace } from '../api'
import { go } from '../nav'
import { isLive, mark, putSession, removeSession, report, sessionsOf, useStore } from '../store'
import { forgetView } from '../term/views'
import { Dialog, Field } from './dialog'
import { show } from './overlay'
import { ProgramFields, sessionOf, shell } from './program'

/** Starts a session and shows it; without a command or a profile it is the user’s shell. */
export async function openSession(workspace: Workspace, how: api.NewSession = {}): Promise<void> {
  const asked = mark()
  const session = await api.startSession(workspace.id, how)
  putSession(session, asked)
  go({ workspace: workspace.label, session: session.name })
}

/** An ended session leaves the list; a running one is asked about first. */
export function closeSession(session: Session): void {
  if (isLive(session)) return show({ is: 'stop-session', session })
  api.deleteSession(session.id).then(() => {
    forgetView(session.id)
    removeSession(session.id)
  }, report)
}

export function NewSession({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const [program, setProgram] = useState(shell)
  const [name, setName] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    try {
      const how = sessionOf(program, sessionsOf(workspace.id).map((s) => s.name))
      await openSession(workspace, { ...how, name: name.trim() || how.name })
      onClose()
    } catch (problem) {
      setError((problem as Error).message)
      setBusy(false)
    }
  }
  return (
    <Dialog title={`New session in ${workspace.label}`} onClose={onClose}>
      <form onSubmit={submit}>
        <ProgramFields from={`/workspaces/${workspace.id}`} program={program} onChange={setProgram} autofocus
          commandHint="Run by sh -c in the workspace’s directory. Empty starts your shell." />
        <Field label="Name">
          <input name="name" placeholder="chosen for you" value={name} autocomplete="off" spellcheck={false}
            onInput={(e) => setName(e.currentTarget.value)} />
        </Field>
        {error && <p class="problem" role="alert">{error}</p>}
        <footer>
          <button type="button" class="quiet" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={busy}>{busy ? 'Starting…' : 'Start session'}</button>
        </footer>
      </form>
    </Dialog>
  )
}

export function StopSession({ session, onClose }: { session: Session; onClose: () => void }) {
  const now = useStore().sessions.get(session.id)
  const ended = !now || !isLive(now)
  useEffect(() => {
    if (ended) onClose() // by itself, or by somebody else
  }, [ended])
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    const asked = mark()
    try {
      putSession(await api.deleteSession(session.id), asked)
      onClose()
    } catch (problem) {
      setError((problem as Error).message)
      setBusy(false)
    }
  }
  return (
    <Dialog title={`Stop ${session.name}?`} onClose={onClose}>
      <form onSubmit={submit}>
        <p class="lead">This ends its program and everything that the program started. The last screen and the exit are kept.</p>
        <p class="hint">If you only close this page, it keeps running.</p>
        {error && <p class="problem" role="alert">{error}</p>}
        <footer>
          <button type="button" class="quiet" onClick={onClose}>Keep running</button>
          <button type="submit" class="danger" autofocus disabled={busy}>{busy ? 'Stopping…' : 'Stop session'}</button>
        </footer>
      </form>
    </Dialog>
  )
}
