// Finds text in what all sessions have printed, and shows the place.

import { useState } from 'preact/hooks'
import { request } from '../api'
import type { Session } from '../api'
import { onEach, state } from '../store'
import { Dialog } from '../ui/dialog'
import { show } from '../ui/overlay'
import { plural, visible } from '../words'
import Past from './past'

interface Match {
  session_id: string
  session_name: string
  workspace_name: string
  workspace_deleted_at?: string
  offset: number
  times: number
  line: string
}

interface Matches {
  matches: Match[]
  searched: number
  left?: number
  failed?: string[]
}

const options = [
  { key: 'case', label: 'Match case' }, { key: 'word', label: 'Whole words' }, { key: 'regex', label: 'Regular expression' },
] as const

export default function SearchAll({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [how, setHow] = useState({ case: false, word: false, regex: false })
  const [found, setFound] = useState<Matches>()
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (busy || !text) return
    setBusy(true)
    setError('')
    const query = new URLSearchParams({ text })
    if (!how.case) query.set('ignore_case', '1')
    if (how.word) query.set('word', '1')
    if (how.regex) query.set('regex', '1')
    const { answers, problems } = await onEach((runtime) => request<Matches>('GET', `${runtime && `/runtimes/${runtime}`}/search?${query}`))
    setFound(answers.length > 0 ? together(answers) : undefined)
    setError(problems.join(' '))
    setBusy(false)
  }
  return (
    <Dialog title="Search all sessions" class="past" onClose={onClose}>
      <form onSubmit={submit}>
        <div class="search-all">
          <input name="text" aria-label="Text" autofocus value={text} spellcheck={false} autocomplete="off" autocapitalize="off" placeholder="In what all sessions have printed"
            onInput={(e) => setText(e.currentTarget.value)} />
          <button type="submit" class="primary" disabled={busy || !text}>{busy ? 'Searching…' : 'Search'}</button>
        </div>
        <div class="search-how">
          {options.map(({ key, label }) => (
            <label key={key} class="consent"><input type="checkbox" checked={how[key]} onChange={(e) => setHow({ ...how, [key]: e.currentTarget.checked })} />{label}</label>
          ))}
        </div>
        {error && <p class="problem" role="alert">{visible(error)}</p>}
        {found && <p class="hint" role="status">{plural(found.matches.length, 'line')} in {plural(found.searched, 'session')}.
          {found.left ? ` ${plural(found.left, 'session')} not searched: look for something rarer.` : ''}{found.failed?.map((f) => ` Not read: ${visible(f)}.`)}</p>}
        {found && found.matches.length > 0 && <Results matches={found.matches} />}
      </form>
    </Dialog>
  )
}

function together(all: Matches[]): Matches {
  return {
    matches: all.flatMap((m) => m.matches), searched: all.reduce((n, m) => n + m.searched, 0),
    left: all.reduce((n, m) => n + (m.left ?? 0), 0), failed: all.flatMap((m) => m.failed ?? []),
  }
}

function Results({ matches }: { matches: Match[] }) {
  const bySession = new Map<string, Match[]>()
  for (const m of matches) bySession.set(m.session_id, [...(bySession.get(m.session_id) ?? []), m])
  return (
    <div class="results">
      {[...bySession.values()].map((list) => (
        <section key={list[0].session_id}>
          <h3>{visible(list[0].workspace_name)}/{visible(list[0].session_name)}{list[0].workspace_deleted_at && ' (deleted)'}</h3>
          <ul>
            {[...list].reverse().map((m) => (
              <li key={m.offset}><button type="button" class="quiet mono" onClick={() => jump(m)}><bdi>{visible(m.line)}</bdi>{m.times > 1 && <span class="hint"> {m.times}×</span>}</button></li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

/** Shows the screen as it was when the line had been printed. */
function jump(m: Match): void {
  const known = state.sessions.get(m.session_id)
  const session = known ?? ({ id: m.session_id, name: m.session_name, workspace_name: m.workspace_name } as Session)
  const place = m.offset + new TextEncoder().encode(m.line).length
  show({ is: 'dialog', draw: (onClose) => <Past session={session} place={place} onClose={onClose} /> })
}
