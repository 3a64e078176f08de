// The terminals that this page keeps: the shown one, and the latest hidden
// ones, so that going back and forth draws at once.

import { putExit, setTitle } from '../store'
import { TerminalView } from './view'

const keep = 8
const views = new Map<string, TerminalView>() // in order of use

export function viewOf(session: string): TerminalView {
  const view = views.get(session) ?? create(session)
  views.delete(session)
  views.set(session, view)
  for (const [id, old] of views) {
    if (views.size <= keep) break
    forgetView(id, old)
  }
  return view
}

function create(session: string): TerminalView {
  const view = new TerminalView(session)
  view.onTitle = (title) => setTitle(session, title)
  view.onExit = (exit) => putExit(session, exit)
  return view
}

/** Drops the terminal of a session that is gone. */
export function forgetView(session: string, view = views.get(session)): void {
  view?.dispose()
  views.delete(session)
}
