import { useEffect, useState } from 'preact/hooks'
import type { Workspace } from '../api'
import { go } from '../nav'
import { state } from '../store'
import { plural, visible } from '../words'
import * as api from './api'
import type { Commit, Forecast } from './api'

const sides = [
  { against: 'base', side: 'ahead', title: 'Beyond its base', none: 'It has no commits that its base lacks.' },
  { against: 'base', side: 'behind', title: 'Only in its base', none: 'It has everything that its base has.' },
  { against: 'upstream', side: 'ahead', title: 'To push', none: 'Everything is pushed.' },
  { against: 'upstream', side: 'behind', title: 'To pull', none: 'The upstream has nothing more.' },
] as const

/** The commits that a workspace is ahead, and behind. */
export function Commits({ workspace }: { workspace: Workspace }) {
  const [at, setAt] = useState(0)
  const [commits, setCommits] = useState<Commit[]>()
  const [next, setNext] = useState('')
  const [of, setOf] = useState('')
  const [error, setError] = useState('')
  const which = sides[at]
  const load = async (cursor = '') => {
    try {
      const page = await api.readCommits(workspace.id, which.against, which.side, cursor)
      setCommits((before) => (cursor ? [...(before ?? []), ...page.commits] : page.commits))
      setNext(page.next ?? '')
      setOf(page.of)
      setError('')
    } catch (problem) {
      setError((problem as Error).message)
    }
  }
  useEffect(() => {
    setCommits(undefined)
    void load()
  }, [at])
  return (
    <div class="history">
      <div class="changes-bar">
        <label class="against"><span>Commits</span>
          <select value={at} onChange={(e) => setAt(Number(e.currentTarget.value))}>
            {sides.map((s, i) => <option key={i} value={i}>{s.title}</option>)}
          </select>
        </label>
        <span class="hint">{of && visible(of)}</span>
      </div>
      {error && <p class="problem" role="alert">{error}</p>}
      {!commits && !error && <div class="empty"><i class="spinner" /></div>}
      {commits?.length === 0 && !error && <div class="empty"><p>{which.none}</p></div>}
      <ol class="commits">
        {commits?.map((c) => (
          <li key={c.hash}>
            <strong><bdi>{visible(c.subject)}</bdi></strong>
            <span class="hint"><code>{c.hash.slice(0, 10)}</code> <bdi>{visible(c.author)}</bdi> · <time dateTime={c.time}>{new Date(c.time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })}</time></span>
          </li>
        ))}
      </ol>
      {next && <button class="quiet outlined" onClick={() => void load(next)}>More</button>}
    </div>
  )
}

const words: Record<Forecast['merge'], string> = {
  clean: 'Merges cleanly', possible: 'May conflict', conflict: 'Conflicts', unknown: 'Not known',
}
const tones: Record<Forecast['merge'], string> = { clean: 'live', possible: 'busy', conflict: 'bad', unknown: 'unknown' }

/** With which other live workspaces of the repository it would conflict. Merging is tried on temporary objects alone. */
export function Conflicts({ workspace }: { workspace: Workspace }) {
  const [list, setList] = useState<Forecast[]>()
  const [error, setError] = useState('')
  useEffect(() => {
    api.readConflicts(workspace.id).then(setList, (problem: Error) => setError(problem.message))
  }, [])
  if (error) return <div class="empty"><p class="problem" role="alert">{error}</p></div>
  if (!list) return <div class="empty"><i class="spinner" /><p class="hint">Trying merges with the other workspaces…</p></div>
  if (list.length === 0) return <div class="empty"><p>No other workspace of this repository is there to conflict with.</p></div>
  const order = ['conflict', 'possible', 'unknown', 'clean']
  return (
    <ul class="commits history">
      {[...list].sort((a, b) => order.indexOf(a.merge) - order.indexOf(b.merge)).map((f) => (
        <li key={f.workspace_id}>
          <span class="forecast"><i class={`dot ${tones[f.merge]}`} /><strong>{words[f.merge]}</strong> with
            <button class="text-link" onClick={() => go({ workspace: state.workspaces.get(f.workspace_id)?.label ?? f.workspace })}>{visible(f.workspace)}</button></span>
          <Names title="Files that a merge would leave to be resolved" list={f.conflicts} />
          <Names title="Files that both change, not committed yet" list={f.both_change} />
          {f.unknown?.map((u) => <span key={u} class="hint">{visible(u)}</span>)}
        </li>
      ))}
    </ul>
  )
}

function Names({ title, list }: { title: string; list?: string[] }) {
  if (!list?.length) return null
  return (
    <details class="names" open={list.length <= 6}>
      <summary>{plural(list.length, 'file')} <span class="hint">{title}</span></summary>
      <ul>{list.map((name) => <li key={name} class="mono"><bdi>{visible(name)}</bdi></li>)}</ul>
    </details>
  )
}
