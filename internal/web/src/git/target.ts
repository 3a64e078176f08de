import { go } from '../nav'
import { state } from '../store'

export interface Target {
  path: string
  line: number
}

let target: Target | undefined

/** Shows the changes of a session's workspace, at a line of a file that was named in the session. */
export function showLine(session: string, path: string, line: number): void {
  const s = state.sessions.get(session)
  const workspace = s && state.workspaces.get(s.workspace_id)
  if (!s || !workspace?.branch) return
  target = { path: path.replace(/^\.\//, ''), line }
  go({ workspace: workspace.label, session: s.name, page: 'changes' })
}

/** Where the diff shall begin, once. */
export function takeTarget(): Target | undefined {
  const taken = target
  target = undefined
  return taken
}
