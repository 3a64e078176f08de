import { useState } from 'preact/hooks'
import { Counts } from '../git/counts'
import { byNeed, byRepository, isPinned, matches, nameOf, rows, togglePin } from '../list'
import type { Row } from '../list'
import { go } from '../nav'
import { canNotify, notifies } from '../notify'
import { prefs, setPrefs } from '../prefs'
import { isLive, useStore } from '../store'
import type { Link } from '../store'
import { paletteKeys, plural } from '../words'
import { showDeleted, showNotifications } from './actions'
import { Asks, Filter, Fold, Item, Machines, useFresh } from './list'
import { show } from './overlay'
import { Auto, Bell, Group, Logo, Moon, Pin, Plus, Search, Sun } from './icons'

export function Sidebar({ onNavigate }: { onNavigate: () => void }) {
  const { link, version } = useStore()
  const [filter, setFilter] = useState('')
  useFresh()
  return (
    <aside class="sidebar" aria-label="Workspaces">
      <header class="brand">
        <a href="/" onClick={(e) => { e.preventDefault(); go({}); onNavigate() }} aria-label="middleman, all sessions">
          <Logo /><span>middleman</span>
        </a>
        <span class="grow" />
        <button class="quiet square" aria-label="Jump to…" title={`Jump to… (${paletteKeys})`} onClick={() => show({ is: 'palette' })}><Search /></button>
        <button class="quiet square" aria-label="New workspace" title="New workspace" onClick={() => show({ is: 'new-workspace' })}><Plus /></button>
      </header>
      <div class="sift">
        <Filter value={filter} onChange={setFilter} label="Filter the sidebar" />
        <GroupingButton />
      </div>
      <nav aria-label="Sessions">
        <Asks onNavigate={onNavigate} />
        <Sections filter={filter} onNavigate={onNavigate} />
        <Machines failing />
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

interface SectionsProps {
  filter: string
  onNavigate: () => void
}

/** Who needs the user comes first, then what is pinned, then the rest. */
function Sections({ filter, onNavigate }: SectionsProps) {
  const all = rows()
  const found = all.filter((r) => matches(r, filter))
  const needs = found.filter((r) => r.group === 'needs-you')
  const pinned = found.filter((r) => r.group !== 'needs-you' && isPinned(r.workspace))
  const rest = found.filter((r) => r.group !== 'needs-you' && !isPinned(r.workspace))
  const item = (r: Row) => <Item key={r.id} row={r} onNavigate={onNavigate}><Counts workspace={r.workspace.id} /><PinButton row={r} /></Item>
  const fold = { open: filter !== '' }
  if (all.length === 0) return <p class="none">No workspaces yet</p>
  if (found.length === 0) return <p class="none">Nothing matches “{filter}”</p>
  return (
    <>
      {needs.length > 0 && <Fold id="needs-you" title="Needs you" count={needs.length} {...fold}>{needs.map(item)}</Fold>}
      {pinned.length > 0 && <Fold id="pinned" title="Pinned" count={pinned.length} {...fold}>{pinned.map(item)}</Fold>}
      {prefs.grouping === 'need'
        ? byNeed(rest).map((s) => <Fold key={s.key} id={s.key} title={s.title} count={s.items.length} {...fold}>{s.items.map(item)}</Fold>)
        : byRepository(found.filter((r) => !isPinned(r.workspace))).map((s) => (
          <Fold key={s.key} id={s.key} title={s.title} count={s.items.length} path={s.path} {...fold}
            more={s.path && <NewOf title={s.title} path={s.path} runtime={s.runtime} />}>
            {s.items.map((list) => <WorkspaceItem key={list[0].workspace.id} list={list} onNavigate={onNavigate} />)}
          </Fold>
        ))}
    </>
  )
}

/** A workspace, which stands where its first session would. */
function WorkspaceItem({ list, onNavigate }: { list: Row[]; onNavigate: () => void }) {
  const w = list[0].workspace
  const live = list.filter((r) => r.session && isLive(r.session)).length
  return (
    <Item row={list[0]} name={w.name} to={{ workspace: w.label }} onNavigate={onNavigate}>
      <Counts workspace={w.id} />
      <PinButton row={list[0]} />
      {live > 1 && <span class="count" title={plural(live, 'live session')}>{live}</span>}
    </Item>
  )
}

function NewOf({ title, path, runtime }: { title: string; path: string; runtime?: string }) {
  const label = `New workspace of ${title}`
  return (
    <button class="quiet square small" aria-label={label} title={label}
      onClick={() => show({ is: 'new-workspace', directory: path, runtime })}><Plus /></button>
  )
}

/** For the mouse: a finger that means the row must not hit it. The palette has it too. */
function PinButton({ row: r }: { row: Row }) {
  const pinned = isPinned(r.workspace)
  const label = `${pinned ? 'Unpin' : 'Pin'} ${nameOf(r)}`
  return (
    <span class={pinned ? 'pin pinned' : 'pin'} title={label} aria-hidden="true"
      onClick={(e) => { e.preventDefault(); e.stopPropagation(); togglePin(r.workspace) }}><Pin /></span>
  )
}

function GroupingButton() {
  const by = prefs.grouping
  const other = by === 'need' ? 'repository' : 'need'
  return (
    <button class="quiet square" title={`Grouped by ${by}`} aria-label={`Grouped by ${by}. Group by ${other}`}
      onClick={() => setPrefs({ grouping: other })}><Group /></button>
  )
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
  const on = notifies() || prefs.push
  const label = `Notifications: ${on ? 'on' : 'off'}`
  return (
    <button class="quiet square" title={label} aria-label={label} aria-haspopup="dialog" onClick={showNotifications}>
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
