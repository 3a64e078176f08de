// Parts of the lists: the sidebar and the start page are made of them.

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { checkRuntime } from '../api'
import type { Workspace } from '../api'
import { useBranch } from '../git/status'
import { go, pathOf, place } from '../nav'
import type { Place } from '../nav'
import { isCollapsed, nameOf, toggleCollapsed } from '../list'
import type { Row } from '../list'
import { onPrefs } from '../prefs'
import { report, resyncRuntimes, shownSession, useStore } from '../store'
import { ago, agentWords, clock, tone, visible } from '../words'
import { show } from './overlay'
import { Branch, Down, Search } from './icons'
import { Unseen } from './unseen'

/** Draws again when a preference changes, and twice a minute for the ages. */
export function useFresh(): void {
  const [, redraw] = useState(0)
  useEffect(() => {
    const again = () => redraw((n) => n + 1)
    const timer = window.setInterval(again, 30_000)
    const stop = onPrefs(again)
    return () => {
      window.clearInterval(timer)
      stop()
    }
  }, [])
}

interface FoldProps {
  id: string
  title: string
  count: number
  path?: string
  /** A filter shows all that it finds. */
  open?: boolean
  more?: ComponentChildren
  children: ComponentChildren
}

/** A section that folds; the browser remembers it. */
export function Fold({ id, title, count, path, open, more, children }: FoldProps) {
  const folded = isCollapsed(id) && !open
  return (
    <section class={id === 'needs-you' || id === 'asks' ? 'group needs-you' : 'group'} aria-label={title}>
      <h2 title={path}>
        <button class="fold" aria-expanded={!folded} onClick={() => toggleCollapsed(id)}>
          <Down /><span>{title}</span><span class="fold-count">{count}</span>
        </button>
        {more}
      </h2>
      {!folded && <ul>{children}</ul>}
    </section>
  )
}

const placeOf = (r: Row): Place => ({ workspace: r.workspace.label, session: r.session?.name })

function toneOf(r: Row): string {
  if (!r.session) return r.workspace.state === 'failed' ? 'bad' : r.workspace.state === 'ready' ? 'done' : 'busy'
  return r.group === 'needs-you' && r.session.state === 'running' ? 'needs' : tone(r.session)
}

/** What a row does, in words. */
export function doing(r: Row): string {
  const words = r.session && r.group !== 'needs-you' ? '' : r.session && agentWords(r.session)
  const text = words || visible(r.state)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

interface ItemProps {
  row: Row
  /** What stands for it instead of WORKSPACE/SESSION. */
  name?: string
  /** Where it goes instead of to its session. */
  to?: Place
  wide?: boolean
  onNavigate?: () => void
  children?: ComponentChildren
}

/** One row, as a link. */
export function Item({ row: r, name = nameOf(r), to = placeOf(r), wide, onNavigate, children }: ItemProps) {
  const at = place()
  const current = at.workspace === to.workspace && (!to.session || r.id === shownSession(r.workspace.id, at.session)?.id)
  return (
    <li>
      <a class="item" href={pathOf(to)} aria-current={current && !wide ? 'page' : undefined} title={`${name}\n${doing(r)}`}
        onClick={(e) => { e.preventDefault(); go(to); onNavigate?.() }}>
        <i class={`dot ${toneOf(r)}`} />
        <span class="item-text">
          <Name text={name} />
          <span class="item-sub"><span><bdi>{doing(r)}</bdi></span></span>
        </span>
        {wide && <BranchOf workspace={r.workspace} />}
        {wide && <span class="item-repository hint">{r.workspace.repository_name}</span>}
        {r.session && <Unseen sessions={[r.session]} />}
        {children}
        <time class="hint" dateTime={r.since}>{ago(r.since)}</time>
      </a>
    </li>
  )
}

const shortName = 16 // characters that always have room

/** A name of which the middle is left out where there is no room: names often differ at their ends. */
function Name({ text }: { text: string }) {
  if (text.length <= shortName) return <span class="item-name"><bdi>{text}</bdi></span>
  const slash = text.lastIndexOf('/')
  const kept = slash < 0 ? 8 : Math.min(text.length - slash + 4, 14) // of WORKSPACE/SESSION the ends of both
  return (
    <span class="item-name cut">
      <bdi class="whole-name">{text}</bdi>
      <span aria-hidden="true" data-text={text.slice(0, -kept)} /><span aria-hidden="true" data-text={text.slice(-kept)} />
    </span>
  )
}

function BranchOf({ workspace }: { workspace: Workspace }) {
  const branch = useBranch(workspace)
  return branch ? <span class="item-branch hint"><Branch /><span>{branch}</span></span> : null
}

/** What agents ask to be allowed, the oldest first. */
export function Asks({ onNavigate }: { onNavigate?: () => void }) {
  const list = [...useStore().approvals.values()].sort((a, b) => a.created_at.localeCompare(b.created_at))
  if (list.length === 0) return null
  return (
    <Fold id="asks" title="Asks to be allowed" count={list.length} open>
      {list.map((a) => (
        <li key={a.id}>
          <button class="item" title={a.reason} onClick={() => { show({ is: 'approval', id: a.id }); onNavigate?.() }}>
            <i class="dot needs" />
            <span class="item-text">
              <span class="item-name">{visible(a.summary)}</span>
              <span class="item-sub"><span>{a.agent} in {a.session}</span></span>
            </span>
            <time class="hint" dateTime={a.created_at}>{ago(a.created_at)}</time>
          </button>
        </li>
      ))}
    </Fold>
  )
}

const reachWords = { unknown: 'Not asked yet', reachable: 'Reachable', unreachable: 'Unreachable', refused: 'Refused' }

/** The other machines with their states; with failing only those that do not answer. */
export function Machines({ failing }: { failing?: boolean }) {
  const list = [...useStore().runtimes.values()].filter((r) => !failing || !r.current)
  if (list.length === 0) return null
  const retry = (name: string) => checkRuntime(name).then(resyncRuntimes, report)
  return (
    <Fold id="machines" title="Machines" count={list.length}>
      {list.map(({ runtime: r, current, as_of: asOf }) => (
        <li key={r.name}>
          <button class="item" title="Ask it again" onClick={() => void retry(r.name)}>
            <i class={`dot ${current ? 'live' : 'unknown'}`} />
            <span class="item-text">
              <span class="item-name">{r.name}</span>
              <span class="item-sub"><span>
                {reachWords[r.state]}{r.state !== 'unknown' && ` since ${clock(r.since)}`}
                {!current && asOf && `, its list is as of ${clock(asOf)}`}{r.detail && `: ${r.detail}`}
              </span></span>
            </span>
          </button>
        </li>
      ))}
    </Fold>
  )
}

/** Where one types what rows must have. */
export function Filter({ value, onChange, label }: { value: string; onChange: (text: string) => void; label: string }) {
  return (
    <label class="filter">
      <Search />
      <input type="search" aria-label={label} placeholder="Filter" value={value} autocomplete="off" spellcheck={false}
        onKeyDown={(e) => { if (e.key === 'Escape' && value) { e.preventDefault(); onChange('') } }}
        onInput={(e) => onChange(e.currentTarget.value)} />
    </label>
  )
}
