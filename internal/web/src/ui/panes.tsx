import type { Session, Workspace } from '../api'
import { columnsOf, unsplit, useMatch, wideQuery } from '../layout'
import { go } from '../nav'
import { sessionsOf } from '../store'
import { tone } from '../words'
import { Close } from './icons'
import { TerminalPane } from './terminal-pane'

/** The terminals of a workspace: the chosen one, and on a wide screen those that it is split with. */
export function Panes({ workspace, session }: { workspace: Workspace; session: Session }) {
  const wide = useMatch(wideQuery)
  const columns = columnsOf(workspace.id, sessionsOf(workspace.id), session)
  const several = wide && columns.flat().length > 1
  if (!several) return <TerminalPane key={session.id} session={session} active />
  const close = (s: Session) => {
    unsplit(workspace.id, s.id)
    const next = columns.flat().find((other) => other.id !== s.id)
    if (s.id === session.id && next) go({ workspace: workspace.label, session: next.name })
  }
  return (
    <div class="panes">
      {columns.map((rows) => (
        <div key={rows[0].id} class="panes-column">
          {rows.map((s) => (
            <div key={s.id} class={s.id === session.id ? 'pane-frame chosen' : 'pane-frame'}
              onFocusIn={() => { if (s.id !== session.id) go({ workspace: workspace.label, session: s.name }, true) }}>
              <header class="pane-head">
                <i class={`dot ${tone(s)}`} /><span>{s.title || s.name}</span>
                <button class="quiet square small" aria-label={`Close the split of ${s.name}`} title="Show it here no more; it goes on" onClick={() => close(s)}><Close /></button>
              </header>
              <TerminalPane session={s} active={s.id === session.id} />
            </div>
          ))}
        </div>
      ))}
    </div>
  )
}
