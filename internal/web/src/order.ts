// The order of a workspace's tabs, as this browser's user has put them. Those
// that were never moved follow in the order of their start.

import type { Session } from './api'
import { changed } from './store'

const key = 'middleman.tabs'
const most = 500 // sessions that are remembered

let order: string[] = load()

function load(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(list) ? list.filter((id) => typeof id === 'string') : []
  } catch {
    return [] // storage is refused or holds something else
  }
}

/** Sorts the sessions of a workspace as their tabs are. */
export function inOrder(sessions: Session[]): Session[] {
  const at = new Map(order.map((id, i) => [id, i]))
  const rank = (s: Session) => at.get(s.id) ?? Infinity
  return sessions.sort((a, b) => (rank(a) === rank(b) ? a.created_at.localeCompare(b.created_at) : rank(a) - rank(b)))
}

/** Puts one of the sessions at a place among them. */
export function moveSession(sessions: Session[], id: string, to: number): void {
  const ids = sessions.map((s) => s.id).filter((other) => other !== id)
  ids.splice(to, 0, id)
  order = [...ids, ...order.filter((other) => !ids.includes(other))].slice(0, most)
  try {
    localStorage.setItem(key, JSON.stringify(order))
  } catch {
    // Storage is refused: the order lasts as long as the page.
  }
  changed()
}
