import { useState } from 'preact/hooks'
import { byNeed, matches, rows } from '../list'
import { prefs } from '../prefs'
import { isOver } from '../store'
import { plural } from '../words'
import { Plus } from './icons'
import { Asks, Filter, Fold, Item, Machines, useFresh } from './list'
import { show } from './overlay'

/** The start page: everything there is, and who waits for the user first. */
export function Home() {
  const [filter, setFilter] = useState('')
  useFresh()
  const all = rows()
  const found = all.filter((r) => matches(r, filter))
  const live = all.filter((r) => r.session && !isOver(r.session)).length
  const need = all.filter((r) => r.group === 'needs-you').length
  return (
    <div class="home">
      <header>
        <h2>Sessions</h2>
        <p class="hint" role="status">{plural(live, 'session')} running{need > 0 && `, ${need} ${need === 1 ? 'needs' : 'need'} you`}</p>
        <span class="grow" />
        <Filter value={filter} onChange={setFilter} label="Filter the sessions" />
        <button class="primary" onClick={() => show({ is: 'new-workspace', directory: prefs.directories[0] })}><Plus />New workspace</button>
      </header>
      <Asks />
      {byNeed(found).map((section) => (
        <Fold key={section.key} id={section.key} title={section.title} count={section.items.length} open={filter !== ''}>
          {section.items.map((r) => <Item key={r.id} row={r} wide />)}
        </Fold>
      ))}
      <Machines />
      {found.length === 0 && <p class="none">Nothing matches “{filter}”</p>}
    </div>
  )
}
