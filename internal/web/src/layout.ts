// Which sessions of a workspace are shown side by side, as this browser's user
// has split the page: columns from left to right, each with rows from top to
// bottom. Kept per workspace.

import { useEffect, useState } from 'preact/hooks'
import type { Session } from './api'
import { changed } from './store'

const key = 'middleman.splits'
const most = 100 // workspaces that are remembered

type Columns = string[][] // ids of sessions

let layouts: Record<string, Columns> = load()

function load(): Record<string, Columns> {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? '{}')
    const all = Object.entries(found && typeof found === 'object' ? found : {})
    return Object.fromEntries(all.filter(([, c]) => Array.isArray(c) && c.every((rows) => Array.isArray(rows) && rows.every((id) => typeof id === 'string'))))
  } catch {
    return {} // storage is refused or holds something else
  }
}

function keep(workspace: string, columns: Columns): void {
  const { [workspace]: _, ...others } = layouts
  const rest = Object.fromEntries(Object.entries(others).slice(-most + 1))
  layouts = columns.flat().length > 1 ? { ...rest, [workspace]: columns } : rest
  save()
  changed()
}

function save(): void {
  try {
    localStorage.setItem(key, JSON.stringify(layouts))
  } catch {
    // Storage is refused: the splits last as long as the page.
  }
}

/** The sessions to show, among them the chosen one: it takes the place of the one that was chosen before, unless it has one. */
export function columnsOf(workspace: string, sessions: Session[], chosen: Session): Session[][] {
  const columns = alive(workspace, sessions)
  const shown = columns.flat()
  if (!shown.some((s) => s.id === chosen.id)) {
    const last = shown.find((s) => s.id === active.get(workspace)) ?? shown[0]
    if (!last) return [[chosen]]
    const at = columns.map((rows) => rows.map((s) => (s.id === last.id ? chosen : s)))
    layouts = { ...layouts, [workspace]: at.map((rows) => rows.map((s) => s.id)) }
    save()
    active.set(workspace, chosen.id)
    return at
  }
  active.set(workspace, chosen.id)
  return columns
}

const active = new Map<string, string>() // the chosen session, by workspace

function alive(workspace: string, sessions: Session[]): Session[][] {
  const byID = new Map(sessions.map((s) => [s.id, s]))
  const columns = (layouts[workspace] ?? []).map((rows) => rows.flatMap((id) => byID.get(id) ?? []))
  return columns.filter((rows) => rows.length > 0)
}

/** A phone shows one terminal, whatever is split elsewhere. */
export const wideQuery = window.matchMedia('(min-width: 721px)')
export const wideEnough = () => wideQuery.matches

/** Whether a media query matches now. */
export function useMatch(query: MediaQueryList): boolean {
  const [matches, setMatches] = useState(query.matches)
  useEffect(() => {
    const listen = () => setMatches(query.matches)
    query.addEventListener('change', listen)
    return () => query.removeEventListener('change', listen)
  }, [query])
  return matches
}

/** How many may be shown: each has a connection of its own, and a browser opens few. */
export const mostPanes = 4
export const panesOf = (workspace: string) => layouts[workspace]?.flat().length ?? 1
export const isShown = (workspace: string, session: string) => layouts[workspace]?.flat().includes(session) ?? false

/** Shows another session beside one, or below it. */
export function split(workspace: string, beside: string, other: string, where: 'right' | 'below'): void {
  const columns = layouts[workspace]?.flat().includes(beside) ? layouts[workspace].map((rows) => rows.filter((id) => id !== other)) : [[beside]]
  const at = columns.findIndex((rows) => rows.includes(beside))
  if (where === 'right') columns.splice(at + 1, 0, [other])
  else columns[at].splice(columns[at].indexOf(beside) + 1, 0, other)
  keep(workspace, columns.filter((rows) => rows.length > 0))
}

/** Shows a session no more; it goes on. */
export function unsplit(workspace: string, session: string): void {
  keep(workspace, (layouts[workspace] ?? []).map((rows) => rows.filter((id) => id !== session)).filter((rows) => rows.length > 0))
}
