import { useEffect, useRef, useState } from 'preact/hooks'
import { downloadRecording } from '../api'
import { branchOf } from '../git/status'
import { go, leaveTerminal, place } from '../nav'
import { prefs, setPrefs } from '../prefs'
import { rows } from '../list'
import { canNotify } from '../notify'
import { isLive, report, shownSession, state } from '../store'
import { viewOf } from '../term/views'
import { stateWords, visible } from '../words'
import { generalActions, showNotifications, workspaceActions } from './actions'
import { Dialog } from './dialog'
import { show } from './overlay'
import { openSession } from './session-dialogs'
import { logOut } from './login'

interface Entry {
  title: string
  detail: string
  run: () => void
}

function entries(): Entry[] {
  const all: Entry[] = []
  const current = [...state.workspaces.values()].find((w) => w.label === place().workspace)
  for (const a of state.approvals.values()) {
    all.push({ title: `Answer: ${visible(a.summary)}`, detail: `${a.agent} in ${a.session}`, run: () => show({ is: 'approval', id: a.id }) })
  }
  for (const { workspace: w, session: s } of rows()) { // who needs the user first
    all.push(s
      ? { title: `${w.label} / ${s.name}`, detail: s.title || stateWords(s), run: () => go({ workspace: w.label, session: s.name }) }
      : { title: w.label, detail: branchOf(w) ?? w.path, run: () => go({ workspace: w.label }) })
  }
  all.push({ title: 'All sessions', detail: 'Start page', run: () => go({}) })
  all.push({ title: 'New workspace…', detail: 'Action', run: () => show({ is: 'new-workspace' }) })
  const shown = current && shownSession(current.id, place().session)
  if (shown) {
    if (isLive(shown)) {
      all.push(
        { title: 'Take over', detail: `type at ${shown.name}`, run: () => viewOf(shown.id).link.connect({ watch: false, takeover: true }) },
        { title: 'Watch', detail: `${shown.name}, without typing`, run: () => viewOf(shown.id).link.connect({ watch: true }) },
      )
    }
    all.push({ title: 'Download recording', detail: `${shown.workspace_name} / ${shown.name}`, run: () => void downloadRecording(shown.id).catch(report) })
  }
  if (current) {
    all.push(
      { title: 'New shell', detail: `in ${current.label}`, run: () => void openSession(current).catch(report) },
      { title: 'New session…', detail: `in ${current.label}`, run: () => show({ is: 'new-session', workspace: current }) },
      { title: 'Delete workspace…', detail: current.label, run: () => show({ is: 'delete-workspace', workspace: current }) },
    )
  }
  if (current) all.push(...workspaceActions(current, shown).map((a) => ({ ...a, detail: current.label })))
  all.push(
    ...generalActions().map((a) => ({ ...a, detail: 'Action' })),
    ...(canNotify() ? [{ title: 'Notifications…', detail: 'Setting', run: showNotifications }] : []),
    ...(['need', 'repository'] as const).map((by) => ({ title: `Group the sidebar by ${by}`, detail: 'Setting', run: () => setPrefs({ grouping: by }) })),
    { title: 'Theme: system', detail: 'Setting', run: () => setPrefs({ theme: 'system' }) },
    { title: 'Theme: dark', detail: 'Setting', run: () => setPrefs({ theme: 'dark' }) },
    { title: 'Theme: light', detail: 'Setting', run: () => setPrefs({ theme: 'light' }) },
    { title: 'Larger text', detail: `${prefs.fontSize} px`, run: () => setPrefs({ fontSize: Math.min(prefs.fontSize + 1, 28) }) },
    { title: 'Smaller text', detail: `${prefs.fontSize} px`, run: () => setPrefs({ fontSize: Math.max(prefs.fontSize - 1, 8) }) },
    {
      title: prefs.copyOnSelect ? 'Do not copy on select' : 'Copy on select',
      detail: 'Setting',
      run: () => setPrefs({ copyOnSelect: !prefs.copyOnSelect }),
    },
    {
      title: prefs.screenReader ? 'Turn screen reader support off' : 'Turn screen reader support on',
      detail: 'Setting',
      run: () => setPrefs({ screenReader: !prefs.screenReader }),
    },
    { title: 'Leave the terminal', detail: 'Ctrl Shift O', run: () => window.setTimeout(leaveTerminal) },
    { title: 'Keys…', detail: 'what they do · ?', run: () => show({ is: 'help' }) },
    { title: 'Logins…', detail: 'browsers that are logged in', run: () => show({ is: 'logins' }) },
    { title: 'Log out', detail: 'this browser', run: logOut },
  )
  return all
}

/** Entries that hold every word of the query, those that begin with it first. */
function search(query: string): Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const rank = (e: Entry) => Number(!e.title.toLowerCase().startsWith(words[0] ?? ''))
  return entries()
    .filter((e) => words.every((word) => `${e.title} ${e.detail}`.toLowerCase().includes(word)))
    .sort((a, b) => rank(a) - rank(b))
}

export function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLUListElement>(null)
  const found = search(query)
  const chosen = Math.min(at, found.length - 1)
  useEffect(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }))
  const run = (entry?: Entry) => {
    if (!entry) return
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) setAt((chosen + step + found.length) % found.length)
    else if (event.key === 'Enter') run(found[chosen])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Jump to a workspace, session or action" class="palette" bare onClose={onClose}>
      <input autofocus type="text" role="combobox" aria-expanded="true" aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen}`} aria-label="Jump to" placeholder="Workspace, session or action"
        value={query} autocomplete="off" spellcheck={false} onKeyDown={onKeyDown}
        onInput={(e) => { setQuery(e.currentTarget.value); setAt(0) }} />
      <ul id="palette-list" role="listbox" aria-label="Results" ref={list}>
        {found.map((entry, i) => (
          <li key={entry.title + entry.detail} id={`palette-${i}`} role="option" aria-selected={i === chosen}
            onPointerMove={() => setAt(i)} onClick={() => run(entry)}>
            <span>{entry.title}</span><span class="hint">{entry.detail}</span>
          </li>
        ))}
        {found.length === 0 && <li class="hint">Nothing found</li>}
      </ul>
    </Dialog>
  )
}
