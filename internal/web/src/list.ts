// What the start page and the sidebar list: sessions, and workspaces that have
// none, in the order that the server gives. The dashboard of the command line
// has the same.

import type { Group, Session, Workspace } from './api'
import { branchOf } from './git/status'
import { prefs, setPrefs } from './prefs'
import { state } from './store'

export interface Row {
  id: string
  workspace: Workspace
  session?: Session
  group: Group
  state: string
  since: string
  order: string
}

export interface Section<T> {
  key: string
  title: string
  /** The repository, where it is one's. */
  path?: string
  /** The machine of its workspaces; unset for the server’s own. */
  runtime?: string
  items: T[]
}

const titles: Record<Group, string> = { 'needs-you': 'Needs you', unknown: 'Unknown', ready: 'Ready', working: 'Working', ended: 'Ended' }

const byOrder = (a: { order: string }, b: { order: string }) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0)

/** All rows, in their order. */
export function rows(): Row[] {
  const list: Row[] = []
  const used = new Set<string>()
  for (const s of state.sessions.values()) {
    const workspace = state.workspaces.get(s.workspace_id)
    if (!workspace) continue
    used.add(workspace.id)
    list.push({ id: s.id, workspace, session: s, ...s.attention })
  }
  for (const w of state.workspaces.values()) if (!used.has(w.id)) list.push({ id: w.id, workspace: w, ...w.attention })
  return list.sort(byOrder)
}

/** What a row is called: WORKSPACE/SESSION. */
export const nameOf = (r: Row) => (r.session ? `${r.workspace.label}/${r.session.name}` : r.workspace.label)

/** Whether each word of a filter is somewhere in a row. */
export function matches(r: Row, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const text = [nameOf(r), titles[r.group], r.state, r.session?.title, r.session?.profile, r.session?.argv?.join(' '),
    branchOf(r.workspace), r.workspace.repository_name].join(' ').toLowerCase()
  return words.every((word) => text.includes(word))
}

/** Rows by what they are to the user; no section is empty. */
export function byNeed(list: Row[]): Section<Row>[] {
  return (Object.keys(titles) as Group[])
    .map((group) => ({ key: group, title: titles[group], items: list.filter((r) => r.group === group) }))
    .filter((section) => section.items.length > 0)
}

/** Workspaces with their rows, by repository; those without one stand under "Directories". */
export function byRepository(list: Row[]): Section<Row[]>[] {
  const sections = new Map<string, Map<string, Row[]>>()
  for (const r of list) {
    const { id, repository = '', runtime } = r.workspace
    const key = `repository ${runtime ? `${runtime}:` : ''}${repository}`
    const workspaces = sections.get(key) ?? new Map<string, Row[]>()
    workspaces.set(id, [...(workspaces.get(id) ?? []), r])
    sections.set(key, workspaces)
  }
  return [...sections]
    .map(([key, workspaces]) => {
      const items = [...workspaces.values()] // in the order of their first rows
      const { repository, repository_name: name = 'Directories', runtime } = items[0][0].workspace
      return { key, title: runtime ? `${runtime}: ${name}` : name, path: repository || undefined, runtime, items }
    })
    .sort((a, b) => Number(!a.path) - Number(!b.path) || a.title.localeCompare(b.title))
}

/** The rows that need the user. */
export const needy = () => rows().filter((r) => r.group === 'needs-you')

export const isPinned = (w: Workspace) => prefs.pinned.includes(w.id)

export function togglePin(w: Workspace): void {
  setPrefs({ pinned: isPinned(w) ? prefs.pinned.filter((id) => id !== w.id) : [...prefs.pinned, w.id].slice(-50) })
}

export const isCollapsed = (key: string) => prefs.collapsed.includes(key)

export function toggleCollapsed(key: string): void {
  setPrefs({ collapsed: isCollapsed(key) ? prefs.collapsed.filter((k) => k !== key) : [...prefs.collapsed, key].slice(-50) })
}
