import { useEffect, useState } from 'preact/hooks'
import type { Workspace } from '../api'
import { Counts } from '../git/counts'
import { go, pathOf, place } from '../nav'
import { canNotify, notifies, setNotify } from '../notify'
import { prefs, setPrefs } from '../prefs'
import { grouped, isLive, sessionsOf, useStore, waiting } from '../store'
import type { Link } from '../store'
import { agentWords, ago, paletteKeys, plural, tone } from '../words'
import { showDeleted } from './actions'
import { show } from './overlay'
import { Auto, Bell, Branch, Logo, Moon, Plus, Search, Sun } from './icons'
import { Unseen } from './unseen'

export function Sidebar({ onNavigate }: { onNavigate: () => void }) {
  const { link, version } = useStore()
  const groups = grouped()
  return (
    <aside class="sidebar" aria-label="Workspaces">
      <header class="brand">
        <a href="/" onClick={(e) => { e.preventDefault(); go({}); onNavigate() }} aria-label="middleman, all workspaces">
          <Logo /><span>middleman</span>
        </a>
        <button class="quiet square" aria-label="New workspace" title="New workspace" onClick={() => show({ is: 'new-workspace' })}><Plus /></button>
      </header>
      <button class="jump" onClick={() => show({ is: 'palette' })}>
        <Search /><span>Jump to…</span><kbd>{paletteKeys}</kbd>
      </button>
      <nav>
        <Asks onNavigate={onNavigate} />
        <NeedsYou onNavigate={onNavigate} />
        {groups.map((group) => (
          <section key={group.path} class="group">
            <h2 title={group.path || undefined}>
              <span>{group.title}</span>
              {group.path && (
                <button class="quiet square small" aria-label={`New workspace of ${group.title}`} title={`New workspace of ${group.title}`}
                  onClick={() => show({ is: 'new-workspace', directory: group.path })}><Plus /></button>
              )}
            </h2>
            <ul>{group.workspaces.map((w) => <Item key={w.id} workspace={w} onNavigate={onNavigate} />)}</ul>
          </section>
        ))}
        {groups.length === 0 && <p class="none">No workspaces yet</p>}
        <button class="quiet small bring-back" onClick={() => { showDeleted(); onNavigate() }}>Restore a deleted workspace…</button>
      </nav>
      <footer class="foot">
        <LinkState link={link} />
        <span class="version" title="Version of the server">{version}</span>
        <NotifyButton />
        <ThemeButton />
      </footer>
    </aside>
  )
}

/** The agents that wait for the user, over all workspaces, the longest first. */
function NeedsYou({ onNavigate }: { onNavigate: () => void }) {
  const [, tick] = useState(0)
  const list = waiting()
  useEffect(() => {
    if (list.length === 0) return
    const timer = window.setInterval(() => tick((n) => n + 1), 30_000)
    return () => window.clearInterval(timer)
  }, [list.length === 0])
  if (list.length === 0) return null
  return (
    <section class="group needs-you" aria-label="Needs you">
      <h2><span>Needs you</span></h2>
      <ul>
        {list.map((s) => (
          <li key={s.id}>
            <a class="item" href={pathOf({ workspace: s.workspace_name, session: s.name })} title={agentWords(s)}
              onClick={(e) => { e.preventDefault(); go({ workspace: s.workspace_name, session: s.name }); onNavigate() }}>
              <i class={`dot ${tone(s)}`} />
              <span class="item-text">
                <span class="item-name">{s.workspace_name}/{s.name}</span>
                <span class="item-sub"><span>{agentWords(s)}</span></span>
              </span>
              <span class="hint">{ago(s.agent?.since)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** What agents ask to be allowed, the oldest first. */
function Asks({ onNavigate }: { onNavigate: () => void }) {
  const list = [...useStore().approvals.values()].sort((a, b) => a.created_at.localeCompare(b.created_at))
  if (list.length === 0) return null
  return (
    <section class="group needs-you" aria-label="Asks to be allowed">
      <h2><span>Asks to be allowed</span></h2>
      <ul>
        {list.map((a) => (
          <li key={a.id}>
            <button class="item" title={a.reason} onClick={() => { show({ is: 'approval', id: a.id }); onNavigate() }}>
              <i class="dot needs" />
              <span class="item-text">
                <span class="item-name">{a.summary}</span>
                <span class="item-sub"><span>{a.session}</span></span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Item({ workspace: w, onNavigate }: { workspace: Workspace; onNavigate: () => void }) {
  const current = place().workspace === w.label
  const sessions = sessionsOf(w.id)
  const live = sessions.filter(isLive).length
  return (
    <li>
      <a class="item" href={pathOf({ workspace: w.label })} aria-current={current ? 'page' : undefined}
        onClick={(e) => { e.preventDefault(); go({ workspace: w.label }); onNavigate() }}>
        <i class={`dot ${workspaceTone(w)}`} />
        <span class="item-text">
          <span class="item-name">{w.name}</span>
          <span class="item-sub">{subtitle(w)}</span>
        </span>
        <Counts workspace={w.id} />
        <Unseen sessions={sessions} />
        {live > 0 && <span class="count" title={plural(live, 'live session')}>{live}</span>}
      </a>
    </li>
  )
}

function workspaceTone(w: Workspace): string {
  if (w.state === 'creating' || w.state === 'deleting') return 'busy'
  if (w.state === 'failed') return 'bad'
  const tones = sessionsOf(w.id).map(tone)
  return ['needs', 'live works', 'live', 'busy', 'unknown', 'bad'].find((t) => tones.includes(t)) ?? 'done'
}

function subtitle(w: Workspace) {
  if (w.state === 'creating') return <span>Creating…</span>
  if (w.state === 'deleting') return <span>Deleting…</span>
  if (w.state === 'failed') return <span>Creation failed</span>
  return w.branch ? <><Branch /><span>{w.branch}</span></> : <span title={w.path}>{w.path}</span>
}

const linkWords: Record<Link, string> = {
  live: 'Connected', connecting: 'Connecting…', reconnecting: 'Reconnecting…', login: 'Not logged in',
  impostor: 'Not the server',
}

function LinkState({ link }: { link: Link }) {
  return (
    <span class="link" role="status">
      <i class={`dot ${link === 'live' ? 'live' : 'busy'}`} />{linkWords[link]}
    </span>
  )
}

function NotifyButton() {
  if (!canNotify()) return null
  const on = notifies()
  const label = on ? 'Notifications: on. Turn them off' : 'Notify me when an agent needs me'
  return (
    <button class="quiet square" title={label} aria-label={label} aria-pressed={on} onClick={() => void setNotify(!on)}>
      <Bell />{on && <i class="dot live" />}
    </button>
  )
}

function ThemeButton() {
  const next = { system: 'dark', dark: 'light', light: 'system' } as const
  const icon = { system: <Auto />, dark: <Moon />, light: <Sun /> }[prefs.theme]
  return (
    <button class="quiet square" title={`Theme: ${prefs.theme}`} aria-label={`Theme: ${prefs.theme}. Change to ${next[prefs.theme]}`}
      onClick={() => setPrefs({ theme: next[prefs.theme] })}>{icon}</button>
  )
}
