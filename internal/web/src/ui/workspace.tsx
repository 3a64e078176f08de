import { useEffect, useState } from 'preact/hooks'
import * as api from '../api'
import type { Denial, Session, Workspace } from '../api'
import { mark, putWorkspace, report, sessionsOf, shownSession, toast, useStore } from '../store'
import { Counts } from '../git/counts'
import * as git from '../git/api'
import { showStatusOf, useBranch } from '../git/status'
import { go, place } from '../nav'
import { copy } from '../term/view'
import { bundleWords, clock, denialWords, sandboxWords, seconds, visible } from '../words'
import { ShowActions } from './actions'
import { Branch, Check, Close, Copy, Diff, Menu, Plus, Trash } from './icons'
import { lazy } from './lazy'
import { show } from './overlay'
import { Panes } from './panes'
import { openSession } from './session-dialogs'
import { Tabs } from './tabs'

const Changes = lazy(() => import('../git/changes'))

interface Props {
  workspace: Workspace
  /** Name of the session to show; the first live one otherwise. */
  session?: string
  onMenu: () => void
}

export function WorkspacePage({ workspace, session: wanted, onMenu }: Props) {
  const sessions = sessionsOf(workspace.id)
  const session = shownSession(workspace.id, wanted)
  const { page } = place()
  const branch = useBranch(workspace)
  useFullRecord(workspace)
  useEffect(() => {
    showStatusOf(workspace.id)
    return () => showStatusOf(undefined)
  }, [workspace.id])
  return (
    <main class="workspace">
      <header class="bar">
        <button class="quiet square only-phone" aria-label="Show workspaces" onClick={onMenu}><Menu /></button>
        <h1>{workspace.label}</h1>
        {branch && (
          <button class="chip" title="Copy the branch’s name" onClick={() => void copied(branch)}><Branch /><span>{branch}</span></button>
        )}
        <button class="chip path" title="Copy the path" onClick={() => void copied(workspace.path)}>
          <span>{workspace.path}</span><Copy />
        </button>
        {workspace.runtime && <Machine name={workspace.runtime} />}
        {session?.bundle && (
          <button class="chip" title={bundleWords(session.bundle)} aria-label={`Bundle ${session.bundle.id}: copy its digest and grants`}
            onClick={() => void copied(bundleWords(session.bundle!))}>
            <span>bundle {visible(session.bundle.id)}/{visible(session.bundle.profile)}{session.bundle.moved ? ', moved' : ''}</span></button>
        )}
        {session?.profile && !session.bundle && <span class="chip" title="A profile that is built in, or the user’s own"><span>profile {visible(session.profile)}</span></span>}
        {session?.sandbox && (
          <button class="chip" title={sandboxWords(session.sandbox)} aria-label={`Sandbox ${session.sandbox.level}: copy what it does`}
            onClick={() => void copied(sandboxWords(session.sandbox!))}><span>sandbox {session.sandbox.level}</span></button>
        )}
        {session && <Denied session={session.id} />}
        <span class="grow" />
        {workspace.branch && workspace.state === 'ready' && (
          <button class="quiet outlined changes-button" aria-pressed={page === 'changes'} aria-label="Changes"
            onClick={() => go({ workspace: workspace.label, session: session?.name, page: page ? undefined : 'changes' })}>
            <Diff /><span>Changes</span><Counts workspace={workspace.id} />
          </button>
        )}
        <ShowActions workspace={workspace} session={session} />
        <button class="quiet square" aria-label="Delete workspace" title="Delete workspace"
          onClick={() => show({ is: 'delete-workspace', workspace })}><Trash /></button>
      </header>
      {workspace.state === 'ready' && <Tabs workspace={workspace} sessions={sessions} current={page ? undefined : session} />}
      {workspace.state === 'ready' && page === 'changes'
        ? <Changes workspace={workspace} session={session?.name} />
        : <Content workspace={workspace} session={session} />}
    </main>
  )
}

/** The machine that a workspace is on, and since when that does not answer. */
function Machine({ name }: { name: string }) {
  const there = useStore().runtimes.get(name)
  const away = there && !there.current ? `, ${there.runtime.state} since ${clock(there.runtime.since)}` : ''
  return <span class="chip" title={there?.runtime.detail}><span>on {name}{away}</span></span>
}

/** What the network list of a session refused while the page was open. */
function Denied({ session }: { session: string }) {
  const list: Denial[] = useStore().denied.get(session) ?? []
  if (!list.length) return null
  const words = denialWords(list)
  return (
    <button class="chip" title={words} aria-label="Denied by the network list: copy all" onClick={() => void copied(words)}>
      <span>denied {visible(list[list.length - 1].target)}</span>
    </button>
  )
}

function Content({ workspace, session }: { workspace: Workspace; session?: Session }) {
  if (workspace.state !== 'ready') return <Creation workspace={workspace} />
  if (session) return <Panes workspace={workspace} session={session} />
  return (
    <div class="empty">
      <h2>No sessions</h2>
      <p>A session is one program on one terminal. It keeps running when this page is closed.</p>
      <button class="primary" onClick={() => void openSession(workspace).catch(report)}><Plus />New shell</button>
    </div>
  )
}

/** The list has no stages: they are asked for while something is under way, but a delete, which may be over by then. */
function useFullRecord(workspace: Workspace): void {
  const wanted = workspace.state !== 'ready' && workspace.state !== 'deleting' && !workspace.stages
  useEffect(() => {
    if (!wanted) return
    const asked = mark()
    api.getWorkspace(workspace.id).then((w) => putWorkspace(w, asked), report)
  }, [workspace.id, wanted])
}

/** The creation goes on at the stage that failed. */
function retry(w: Workspace): void {
  const asked = mark()
  git.retry(w.id).then((made) => putWorkspace(made.workspace, asked), report)
}

async function copied(text: string): Promise<void> {
  toast('info', (await copy(text)) ? `Copied ${text}` : text)
}

function Creation({ workspace: w }: { workspace: Workspace }) {
  const [, tick] = useState(0)
  const moving = w.state !== 'failed'
  useEffect(() => {
    if (!moving) return
    const timer = window.setInterval(() => tick((n) => n + 1), 100)
    return () => window.clearInterval(timer)
  }, [moving])
  const title = { creating: 'Creating', failed: 'Could not create', deleting: 'Deleting', ready: '' }[w.state]
  return (
    <div class="empty creation" aria-live="polite">
      <h2>{title} {w.label}</h2>
      <ol class="stages">
        {(w.stages ?? []).map((stage) => (
          <li key={stage.name} class={stage.state}>
            <span class="mark">{stage.state === 'done' ? <Check /> : stage.state === 'failed' ? <Close /> : <i class="spinner" />}</span>
            <span class="stage-name">{stage.name}</span>
            <span class="hint">{stage.detail}</span>
            <time>{seconds(stage.started_at, stage.finished_at)}</time>
          </li>
        ))}
      </ol>
      {w.error && <p class="problem" role="alert">{w.error}</p>}
      {w.state === 'failed' && (
        <div class="card-actions">
          <button class="quiet outlined" onClick={() => show({ is: 'delete-workspace', workspace: w })}>Remove it</button>
          <button class="primary" onClick={() => retry(w)}>Try again</button>
        </div>
      )}
    </div>
  )
}
