import type { Session, Workspace } from '../api'
import { go } from '../nav'
import { compose } from '../composing'
import { isPinned, togglePin } from '../list'
import { isLive, report, toast } from '../store'
import { plural, visible } from '../words'
import * as git from '../git/api'
import { Dialog } from './dialog'
import { More } from './icons'
import { lazy } from './lazy'
import { show } from './overlay'
import { sessionActions } from './session-actions'
import { closeSession } from './session-dialogs'

const Merge = lazy(() => import('../git/merge'))
const Push = lazy(() => import('../git/push'))
const Trust = lazy(() => import('../git/trust'))
const Deleted = lazy(() => import('../git/deleted'))
const Import = lazy(() => import('../git/import'))

const SearchAll = lazy(() => import('../past/search-all'))
const Share = lazy(() => import('./share'))
const Notifications = lazy(() => import('./notifications'))

export interface Action {
  title: string
  run: () => void
}

/** What can be done with a workspace beside its terminals; the palette lists the same. */
export function workspaceActions(workspace: Workspace, session?: Session): Action[] {
  const all: Action[] = [{ title: isPinned(workspace) ? 'Unpin workspace' : 'Pin workspace', run: () => togglePin(workspace) }]
  if (workspace.state !== 'ready') return all
  if (session && isLive(session)) {
    all.push(
      { title: `Write a message to ${session.name}…`, run: () => compose(session.id, true) },
      { title: `Stop session ${session.name}…`, run: () => closeSession(session) },
    )
  } else if (session) {
    all.push({ title: `Remove session ${session.name}`, run: () => closeSession(session) })
  }
  if (workspace.branch) {
    all.push({ title: 'Show changes', run: () => go({ workspace: workspace.label, session: session?.name, page: 'changes' }) })
  }
  if (workspace.mode === 'worktree') {
    all.push(
      { title: 'Merge…', run: () => show({ is: 'dialog', draw: (onClose) => <Merge workspace={workspace} onClose={onClose} /> }) },
      { title: 'Push…', run: () => show({ is: 'dialog', draw: (onClose) => <Push workspace={workspace} onClose={onClose} /> }) },
      { title: 'Import commits of sandboxed sessions', run: () => bring(workspace) },
    )
  }
  if (session) {
    all.push(...sessionActions(workspace, session))
    all.push({ title: `Share ${session.name}…`, run: () => show({ is: 'dialog', draw: (onClose) => <Share session={session} onClose={onClose} /> }) })
  }
  if (workspace.repository) {
    all.push({ title: 'Repository configuration…', run: () => show({ is: 'dialog', draw: (onClose) => <Trust workspace={workspace} onClose={onClose} /> }) })
  }
  return all
}

/** What concerns no workspace in particular. */
export function generalActions(): Action[] {
  return [
    { title: 'Search all sessions…', run: () => show({ is: 'dialog', draw: (onClose) => <SearchAll onClose={onClose} /> }) },
    { title: 'Restore a deleted workspace…', run: showDeleted },
    { title: 'Shared links…', run: () => show({ is: 'dialog', draw: (onClose) => <Share onClose={onClose} /> }) },
    { title: 'Import worktrees…', run: () => show({ is: 'dialog', draw: (onClose) => <Import onClose={onClose} /> }) },
  ]
}

export const showNotifications = () => show({ is: 'dialog', draw: (onClose) => <Notifications onClose={onClose} /> })

export const showDeleted = () => show({ is: 'dialog', draw: (onClose) => <Deleted onClose={onClose} /> })

function bring(workspace: Workspace): void {
  git.importSandbox(workspace.id).then((b) => {
    if (b.problem) toast('error', visible(b.problem))
    else toast('info', b.commits > 0 ? `${plural(b.commits, 'commit')} imported into ${visible(b.branch ?? '')}.` : 'Nothing new in its sandboxed sessions.')
    for (const ref of b.kept ?? []) toast('info', `Kept as ${visible(ref)}`)
  }, report)
}

/** A button for all of it, for those without a keyboard. */
export function ShowActions({ workspace, session }: { workspace: Workspace; session?: Session }) {
  const open = () => show({ is: 'dialog', draw: (onClose) => <Actions workspace={workspace} session={session} onClose={onClose} /> })
  return <button class="quiet square" aria-label="More actions" title="More actions" aria-haspopup="dialog" onClick={open}><More /></button>
}

function Actions({ workspace, session, onClose }: { workspace: Workspace; session?: Session; onClose: () => void }) {
  return (
    <Dialog title={workspace.label} onClose={onClose}>
      <ul class="actions">
        {[...workspaceActions(workspace, session), ...generalActions()].map((a) => (
          <li key={a.title}><button class="quiet" onClick={() => { onClose(); a.run() }}>{a.title}</button></li>
        ))}
      </ul>
    </Dialog>
  )
}
