// The path says what is looked at: /w/WORKSPACE, /w/WORKSPACE/SESSION, and
// /changes/WORKSPACE for the diff.

import { changed } from './store'

export interface Place {
  workspace?: string
  session?: string
  /** What of the workspace; its terminals otherwise. */
  page?: 'changes'
}

export function place(): Place {
  const [, w, workspace, session] = location.pathname.split('/').map(decode)
  if (w === 'changes') return { workspace, session, page: w }
  return w === 'w' ? { workspace, session } : {}
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export function pathOf(to: Place): string {
  return '/' + [to.workspace && (to.page ?? 'w'), to.workspace, to.session].filter(Boolean).map((p) => encodeURIComponent(p!)).join('/')
}

export function go(to: Place, replace = false): void {
  const path = pathOf(to)
  if (path === location.pathname) return
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  changed()
}

/** Gives the focus to the list of sessions: where we are in it, else its first row. */
export function leaveTerminal(): void {
  const list = document.querySelector('.sidebar nav, .home')
  const row = list?.querySelector<HTMLElement>('.item[aria-current]') ?? list?.querySelector<HTMLElement>('.item')
  row?.focus()
}

window.addEventListener('popstate', changed)
