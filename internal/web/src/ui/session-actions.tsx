import { useState } from 'preact/hooks'
import { request } from '../api'
import * as api from '../api'
import type { Session, Workspace } from '../api'
import { isShown, mostPanes, panesOf, split, wideEnough } from '../layout'
import { go, place } from '../nav'
import { moveSession } from '../order'
import { isLive, isOver, mark, putSession, report, sessionsOf } from '../store'
import type { Action } from './actions'
import { Dialog, Field } from './dialog'
import { lazy } from './lazy'
import { show } from './overlay'

const Past = lazy(() => import('../past/past'))

/** What can be done with one session, beside typing at it and stopping it. */
export function sessionActions(workspace: Workspace, session: Session): Action[] {
  const all: Action[] = [
    { title: `Rename ${session.name}…`, run: () => showRename(session) },
    { title: `The past of ${session.name}…`, run: () => show({ is: 'dialog', draw: (onClose) => <Past session={session} onClose={onClose} /> }) },
  ]
  const sessions = sessionsOf(workspace.id)
  const at = sessions.findIndex((s) => s.id === session.id)
  if (at > 0) all.push({ title: `Move ${session.name} to the left`, run: () => moveSession(sessions, session.id, at - 1) })
  if (at < sessions.length - 1) all.push({ title: `Move ${session.name} to the right`, run: () => moveSession(sessions, session.id, at + 1) })
  if (wideEnough() && panesOf(workspace.id) < mostPanes) {
    all.push({ title: 'Split to the right', run: () => void splitWith(workspace, session, 'right').catch(report) })
    all.push({ title: 'Split below', run: () => void splitWith(workspace, session, 'below').catch(report) })
  }
  if (canResume(session)) all.push({ title: `Resume ${session.name}`, run: () => resume(session) })
  if (canRestart(session)) all.push({ title: `Restart ${session.name}`, run: () => restart(workspace, session) })
  return all
}

/** Shows the next session that is not shown beside this one, or a new shell; the tabs then choose another. */
async function splitWith(workspace: Workspace, session: Session, where: 'right' | 'below'): Promise<void> {
  const free = sessionsOf(workspace.id).filter((s) => s.id !== session.id && !isShown(workspace.id, s.id))
  let other = free.find(isLive) ?? free[0]
  if (!other) {
    other = await api.startSession(workspace.id, {})
    putSession(other)
  }
  split(workspace.id, session.id, other.id, where)
  go({ workspace: workspace.label, session: other.name })
}

export const showRename = (session: Session) => show({ is: 'dialog', draw: (onClose) => <Rename session={session} onClose={onClose} /> })

const renamed = (id: string, name: string) => request<Session>('POST', `/sessions/${id}/rename`, { name })

/** Renames a session, and goes on looking at it where it is the shown one. */
async function rename(session: Session, name: string): Promise<void> {
  const asked = mark()
  const now = await renamed(session.id, name)
  putSession(now, asked)
  const at = place()
  if (at.session === session.name && at.workspace === session.workspace_name) go({ ...at, session: now.name }, true)
}

function Rename({ session, onClose }: { session: Session; onClose: () => void }) {
  const [name, setName] = useState(session.name)
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    try {
      await rename(session, name.trim())
      onClose()
    } catch (problem) {
      setError((problem as Error).message)
      setBusy(false)
    }
  }
  return (
    <Dialog title={`Rename ${session.name}`} onClose={onClose}>
      <form onSubmit={submit}>
        <Field label="Name"><input name="name" autofocus required value={name} autocomplete="off" spellcheck={false} onInput={(e) => setName(e.currentTarget.value)} /></Field>
        {error && <p class="problem" role="alert">{error}</p>}
        <footer>
          <button type="button" class="quiet" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={busy || !name.trim()}>Rename</button>
        </footer>
      </form>
    </Dialog>
  )
}

/** The conversation of an ended session can be taken up again if it is known, and goes on nowhere else. */
export const canResume = (s: Session) => isOver(s) && !!s.profile && !!s.conversation &&
  !sessionsOf(s.workspace_id).some((other) => isLive(other) && other.profile === s.profile && other.conversation === s.conversation)

/** Takes its conversation up again in a new session, and shows that; the ended one stays. */
export function resume(session: Session): void {
  const asked = mark()
  api.resumeSession(session.id).then((started) => {
    putSession(started, asked)
    go({ workspace: session.workspace_name, session: started.name })
  }, report)
}

/** An ended session can be started again if the browser knows all that it was started with: a bundle’s profile, or a command in a sandbox, has more. */
export const canRestart = (s: Session) => isOver(s) && !s.bundle && (s.profile ? true : !s.sandbox && !!s.argv?.length)

/** Starts the same again under the same name; what the ended session printed stays, under another one. */
export function restart(workspace: Workspace, session: Session): void {
  const again = async () => {
    const taken = new Set(sessionsOf(workspace.id).map((s) => s.name))
    let n = 1
    while (taken.has(`${session.name}.${n}`)) n++
    const asked = mark()
    putSession(await renamed(session.id, `${session.name}.${n}`), asked)
    const how = session.profile ? { profile: session.profile } : { command: session.argv }
    const started = await api.startSession(workspace.id, { ...how, name: session.name, restarts: session.id })
    putSession(started)
    go({ workspace: workspace.label, session: started.name })
  }
  again().catch(report)
}
