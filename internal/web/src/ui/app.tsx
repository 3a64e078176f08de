import { useEffect, useState } from 'preact/hooks'
import { showBadge } from '../badge'
import { useMatch, wideQuery } from '../layout'
import { needy } from '../list'
import { go, leaveTerminal, place } from '../nav'
import { isDark, onPrefs, prefs } from '../prefs'
import { dismissSeen } from '../notify'
import { dismissToast, sessionsOf, state, useStore } from '../store'
import type { Toast } from '../store'
import { isAppKey } from '../term/view'
import { AnswerApproval } from './approval'
import { DeleteWorkspace } from './delete-workspace'
import { Close, Logo, Menu, Plus } from './icons'
import { Help } from './help'
import { Home } from './home'
import { NewWorkspace } from './new-workspace'
import { Impostor, Login } from './login'
import { Logins } from './logins'
import { NotThere } from './not-there'
import { hide, overlay, show } from './overlay'
import { Palette } from './palette'
import { NewSession, StopSession } from './session-dialogs'
import { Sidebar } from './sidebar'
import { WorkspacePage } from './workspace'

export function App() {
  const { link, loaded } = useStore()
  const [drawer, setDrawer] = useDrawer()
  useTheme()
  useKeys()
  usePageTitle()
  if (link === 'login') return <Login />
  if (link === 'impostor') return <Impostor />
  if (!loaded) return <div class="empty whole" role="status"><i class="spinner" /><p class="hint">Connecting to the server…</p></div>
  return (
    <div class={drawer ? 'app drawer-open' : 'app'}>
      <Sidebar onNavigate={() => setDrawer(false)} />
      {drawer && <div class="scrim" onClick={() => setDrawer(false)} />}
      <Page onMenu={() => setDrawer(true)} />
      <OpenDialog />
      <Toasts />
    </div>
  )
}

/** Whether the sidebar lies over the page, which it does on a phone alone: a page that becomes wider closes it. */
function useDrawer(): [boolean, (open: boolean) => void] {
  const [open, setOpen] = useState(false)
  const wide = useMatch(wideQuery)
  useEffect(() => { if (wide) setOpen(false) }, [wide])
  return [open && !wide, setOpen]
}

function Page({ onMenu }: { onMenu: () => void }) {
  const { workspace: name, session } = place()
  const workspace = [...state.workspaces.values()].find((w) => w.label === name)
  if (workspace) return <WorkspacePage key={workspace.id} workspace={workspace} session={session} onMenu={onMenu} />
  return (
    <main class="workspace">
      <header class="bar only-phone">
        <button class="quiet square" aria-label="Show workspaces" onClick={onMenu}><Menu /></button>
        <h1>middleman</h1>
      </header>
      {name ? <NotThere name={name} /> : state.workspaces.size + state.runtimes.size > 0 ? <Home /> : <Welcome />}
    </main>
  )
}

function Welcome() {
  return (
    <div class="empty">
      <Logo />
      <h2>Terminals that outlive everything but their own program</h2>
      <p>A workspace is a directory of its own, such as a git worktree, with sessions in it. Close this page, or restart
        the server: the programs in it do not notice.</p>
      <button class="primary" onClick={() => show({ is: 'new-workspace' })}><Plus />New workspace</button>
      <p class="hint">or, in any git repository: <code>middleman new NAME</code></p>
    </div>
  )
}

function OpenDialog() {
  switch (overlay?.is) {
    case 'new-workspace':
      return <NewWorkspace directory={overlay.directory} runtime={overlay.runtime} onClose={hide} />
    case 'delete-workspace':
      return <DeleteWorkspace workspace={overlay.workspace} onClose={hide} />
    case 'new-session':
      return <NewSession workspace={overlay.workspace} onClose={hide} />
    case 'stop-session':
      return <StopSession session={overlay.session} onClose={hide} />
    case 'approval':
      return <AnswerApproval key={overlay.id} id={overlay.id} onClose={hide} />
    case 'help':
      return <Help onClose={hide} />
    case 'logins':
      return <Logins onClose={hide} />
    case 'palette':
      return <Palette onClose={hide} />
    case 'dialog':
      return <>{overlay.draw(hide)}</>
  }
  return null
}

function Toasts() {
  useEffect(dismissSeen)
  return (
    <div class="toasts" aria-live="polite">
      {state.toasts.map((t) => <OneToast key={t.id} toast={t} />)}
    </div>
  )
}

/** Its time begins when it is drawn: what is told while the page is still loading would else be gone before. */
function OneToast({ toast: t }: { toast: Toast }) {
  useEffect(() => {
    const timer = window.setTimeout(() => dismissToast(t.id), t.stays)
    return () => window.clearTimeout(timer)
  }, [t.id])
  return (
    <div class={`toast ${t.kind}`} role={t.kind === 'error' ? 'alert' : 'status'}>
      <span>{t.text}</span>
      {t.action && <button class="quiet outlined" onClick={() => { dismissToast(t.id); t.action!.run() }}>{t.action.label}</button>}
      <button class="quiet square small" aria-label="Dismiss" onClick={() => dismissToast(t.id)}><Close /></button>
    </div>
  )
}

function useTheme(): void {
  const [, redraw] = useState(prefs)
  const apply = () => {
    document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
    redraw({ ...prefs })
  }
  useEffect(() => {
    apply()
    return onPrefs(apply)
  }, [])
}

function useKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const inTerminal = (event.target as Element).closest?.('.terminal')
      const palette = event.code === 'KeyK' && (isAppKey(event) || (event.ctrlKey && !event.shiftKey && !inTerminal))
      const step = event.ctrlKey && event.shiftKey ? { BracketLeft: -1, BracketRight: 1 }[event.code] : undefined
      const typing = inTerminal || (event.target as Element).closest?.('input, textarea, [contenteditable]')
      if (palette) show(overlay?.is === 'palette' ? undefined : { is: 'palette' })
      else if (event.key === '?' && !typing && !overlay) show({ is: 'help' })
      else if (event.code === 'KeyO' && isAppKey(event)) leaveTerminal()
      else if (step) moveTab(step)
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
}

function moveTab(step: number): void {
  const at = place()
  const workspace = [...state.workspaces.values()].find((w) => w.label === at.workspace)
  if (!workspace) return
  const sessions = sessionsOf(workspace.id)
  const now = Math.max(sessions.findIndex((s) => s.name === at.session), 0)
  const next = sessions[(now + step + sessions.length) % sessions.length]
  if (next) go({ workspace: workspace.label, session: next.name })
}

function usePageTitle(): void {
  const { workspace, session } = place()
  const s = [...state.sessions.values()].find((x) => x.workspace_name === workspace && (!session || x.name === session))
  const need = needy().length
  useEffect(() => showBadge(need), [need])
  document.title = (need ? `(${need}) ` : '') + [s?.title, workspace, 'middleman'].filter(Boolean).join(' · ')
}
