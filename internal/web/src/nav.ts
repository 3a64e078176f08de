// The path says what is looked at: /w/WORKSPACE and /w/WORKSPACE/SESSION.

import { changed } from './store'

export interface Place {
  workspace?: string
  session?: string
}

export function place(): Place {
  const [, w, workspace, session] = location.pathname.split('/').map(decode)
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
  return '/' + [to.workspace && 'w', to.workspace, to.session].filter(Boolean).map((p) => encodeURIComponent(p!)).join('/')
}

export function go(to: Place, replace = false): void {
  const path = pathOf(to)
  if (path === location.pathname) return
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  changed()
}

window.addEventListener('popstate', changed)
