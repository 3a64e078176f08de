// What a workspace changes: its diff, its commits, and with which other
// workspaces it would conflict. Loaded when it is first opened.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Workspace } from '../api'
import { useMatch } from '../layout'
import { whenStatus } from './status'
import * as api from './api'
import type { Against, Diff } from './api'
import { colour } from './colours'
import { loadComments, numberOf, saveComments, sideOf } from './comments'
import type { Comment } from './comments'
import { Commits, Conflicts } from './history'
import { DiffRow } from './diff-row'
import { parsePatch } from './patch'
import type { Line, PatchFile } from './patch'
import { rowsOf } from './rows'
import type { Row } from './rows'
import { Rows } from './rows-view'
import type { RowsControl } from './rows-view'
import { SendComments } from './send-comments'
import { takeTarget } from './target'
import type { Target } from './target'
import { toast } from '../store'
import { plural, visible } from '../words'

const against: { value: Against; text: string }[] = [
  { value: 'merge-base', text: 'where it branched off' }, { value: 'base', text: 'the base as it is now' },
  { value: 'head', text: 'HEAD: not committed' }, { value: 'upstream', text: 'its upstream' },
]

type Tab = 'diff' | 'commits' | 'conflicts'

export default function Changes({ workspace, session }: { workspace: Workspace; session?: string }) {
  const [at] = useState(takeTarget)
  const [tab, setTab] = useState<Tab>('diff')
  return (
    <section class="changes" aria-label={`Changes of ${workspace.label}`}>
      <div class="changes-tabs" role="tablist" aria-label="What to show">
        {(['diff', 'commits', 'conflicts'] as const).map((t) => (
          <button key={t} role="tab" class="quiet" aria-selected={tab === t} onClick={() => setTab(t)}>{{ diff: 'Diff', commits: 'Commits', conflicts: 'Conflicts' }[t]}</button>
        ))}
      </div>
      {tab === 'diff' && <DiffView key={workspace.id} workspace={workspace} session={session} at={at} />}
      {tab === 'commits' && <Commits workspace={workspace} />}
      {tab === 'conflicts' && <Conflicts workspace={workspace} />}
    </section>
  )
}

interface Loaded {
  diff: Diff
  files: PatchFile[]
}

function DiffView({ workspace, session, at }: { workspace: Workspace; session?: string; at?: Target }) {
  const [with_, setWith] = useState<Against | ''>('')
  const [loaded, setLoaded] = useState<Loaded>()
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const [old, setOld] = useState(false)
  const asked = useRef(0)

  const load = async () => {
    const mine = ++asked.current
    setBusy(true)
    setOld(false)
    try {
      const diff = await api.readDiff(workspace.id, with_)
      const patch = diff.files.length > 0 ? await api.readPatch(workspace.id, diff.against) : ''
      if (mine !== asked.current) return
      setLoaded({ diff, files: named(parsePatch(patch), diff) })
      setError('')
    } catch (problem) {
      if (mine !== asked.current) return
      setLoaded(undefined)
      setError((problem as Error).message)
    }
    setBusy(false)
  }
  useEffect(() => void load(), [with_])
  useEffect(() => whenStatus(workspace.id, (first) => first || setOld(true)), [])

  return (
    <>
      <div class="changes-bar">
        <label class="against"><span>Against</span>
          <select value={with_ || loaded?.diff.against || ''} onChange={(e) => setWith(e.currentTarget.value as Against)}>
            {!with_ && !loaded && <option value="" />}
            {against.map((a) => <option key={a.value} value={a.value}>{a.text}</option>)}
          </select>
        </label>
        {loaded && <span class="hint" title={loaded.diff.commit}>{visible(loaded.diff.of)} · {plural(loaded.diff.files.length + (loaded.diff.more ?? 0), 'file')}{' '}
          <span class="plus">+{loaded.diff.added}</span> <span class="minus">−{loaded.diff.deleted}</span></span>}
        <span class="grow" />
        {old && !busy && <span class="hint" role="status">Something has changed since.</span>}
        <button class={old ? 'primary' : 'quiet outlined'} disabled={busy} onClick={() => void load()}>{busy ? 'Reading…' : 'Read again'}</button>
      </div>
      {error && <div class="empty"><p class="problem" role="alert">{error}</p></div>}
      {!error && !loaded && <div class="empty"><i class="spinner" /></div>}
      {loaded && !error && <Files workspace={workspace} session={session} loaded={loaded} at={at} />}
    </>
  )
}

/** The patch says of no file whether git knows it, and of one in conflict no more than that it changed. */
function named(files: PatchFile[], diff: Diff): PatchFile[] {
  const known = new Map(diff.files.map((f) => [f.path, f]))
  return files.map((f) => {
    const is = known.get(f.path)
    return is?.change === 'conflict' ? { ...f, mark: 'conflict' } : is?.untracked ? { ...f, mark: 'untracked' } : f
  })
}

const foldedFrom = 3000 // lines; a file with more is folded at first, and opens

function Files({ workspace, session, loaded: { diff, files }, at }: { workspace: Workspace; session?: string; loaded: Loaded; at?: Target }) {
  const wide = useMatch(wideQuery)
  const [split, setSplit] = useState(false)
  const [turned, setTurned] = useState<Set<string>>(new Set()) // those that are not folded as they would be, or are
  const isLarge = (f: PatchFile) => files.length > 1 && f.added + f.deleted > foldedFrom
  const [comments, setComments] = useState(() => loadComments(workspace.id))
  const [editing, setEditing] = useState<{ path: string; line: Line }>()
  const [sending, setSending] = useState(false)
  const [top, setTop] = useState('')
  const control = useRef<RowsControl | null>(null)
  const [, repaint] = useState(0)
  const rows = useMemo(() => {
    const folded = new Set(files.filter((f) => isLarge(f) !== turned.has(f.path)).map((f) => f.path))
    return rowsOf(files, { folded, split: split && wide, comments, editing })
  }, [files, turned, split && wide, comments, editing])
  useLayoutEffect(() => saveComments(workspace.id, comments), [comments]) // at once: the page may be left before the next frame

  const write = (file: PatchFile, line: Line, text: string) => {
    const others = comments.filter((c) => !(c.path === file.path && c.side === sideOf(line) && c.line === numberOf(line)))
    const mine: Comment[] = text.trim() ? [{ path: file.path, side: sideOf(line), line: numberOf(line), code: line.text.slice(0, 500), text }] : []
    setComments([...others, ...mine])
    setEditing(undefined)
  }
  const fold = (path: string) => setTurned((before) => {
    const after = new Set(before)
    if (!after.delete(path)) after.add(path)
    return after
  })
  const jump = (path: string, line = 0) => {
    const exact = rows.findIndex((r) => line > 0 && r.is === 'line' && r.file.path === path && r.line.new >= line)
    const index = exact >= 0 ? Math.max(exact - 4, 0) : rows.findIndex((r) => r.is === 'file' && r.file.path === path)
    control.current?.show(Math.max(index, 0))
  }
  // A program names a file as seen from where it runs.
  useEffect(() => {
    if (!at) return
    const file = files.find((f) => f.path === at.path) ?? files.find((f) => f.path.endsWith(`/${at.path}`) || at.path.endsWith(`/${f.path}`))
    if (file) jump(file.path, at.line)
    else toast('info', `${visible(at.path)} is not among the changes.`)
  }, [])

  // Colours come after the text, so that scrolling never waits for them.
  const pending = useRef(new Set<Row>())
  const soon = useRef(0)
  const paint = (row: Row) => {
    pending.current.add(row)
    if (soon.current) return
    soon.current = window.setTimeout(() => {
      soon.current = 0
      let any = false
      for (const r of pending.current) {
        const line = r.is === 'line' ? r.line : r.is === 'pair' ? (r.new ?? r.old) : undefined
        if (line && (r.is === 'line' || r.is === 'pair')) any = colour(r.file.path, r.hunk, line) || any
      }
      pending.current.clear()
      if (any) repaint((n) => n + 1)
    }, 30)
  }
  useEffect(() => () => window.clearTimeout(soon.current), [])

  if (diff.files.length === 0) return <div class="empty"><h2>No changes</h2><p>The workspace has what {visible(diff.of)} has.</p></div>
  const missing = diff.added + diff.deleted - files.reduce((sum, f) => sum + f.added + f.deleted, 0)
  return (
    <div class="diff">
      {wide && <FileList diff={diff} files={files} top={top} onJump={jump} />}
      <div class="diff-main">
        <div class="diff-tools">
          {!wide && (
            <select aria-label="File" value={top} onChange={(e) => jump(e.currentTarget.value)}>
              {files.map((f) => <option key={f.path} value={f.path}>{visible(f.path)}</option>)}
            </select>
          )}
          {wide && <span class="path" title={visible(top)}>{visible(top)}</span>}
          <span class="grow" />
          {wide && <button class="quiet outlined" aria-pressed={split} onClick={() => setSplit(!split)}>{split ? 'Inline' : 'Side by side'}</button>}
          {comments.length > 0 && <button class="primary" onClick={() => setSending(true)}>Send {plural(comments.length, 'comment')}…</button>}
        </div>
        {[...(diff.left_out ?? []), ...(missing > 0 ? [`The patch is longer than what is shown here: ${plural(missing, 'changed line')} more. In a terminal: middleman diff ${workspace.label}`] : [])]
          .map((text) => <p key={text} class="problem" role="status">{visible(text)}</p>)}
        <Rows rows={rows} control={control} label="The diff" keyOf={(r) => r.key} onTop={(i) => setTop(pathAt(rows, i))}
          guess={(row, width) => guess(row, width, split && wide)}
          draw={(row) => {
            paint(row)
            return <DiffRow row={row} onFold={fold} onComment={(path, line) => setEditing({ path, line })} onWrite={write} onCancel={() => setEditing(undefined)}
              onEdit={(c) => { const line = lineOf(files, c); if (line) setEditing({ path: c.path, line }) }}
              onRemove={(c) => setComments(comments.filter((other) => other !== c))} />
          }} />
      </div>
      {sending && <SendComments workspace={workspace} session={session} comments={sorted(comments, files)} against={diff.of}
        onClose={() => setSending(false)} onSent={() => { setComments([]); setSending(false) }} />}
    </div>
  )
}

function FileList({ diff, files, top, onJump }: { diff: Diff; files: PatchFile[]; top: string; onJump: (path: string) => void }) {
  return (
    <nav class="diff-files" aria-label="Changed files">
      <ul>
        {files.map((f) => (
          <li key={f.path}>
            <button class="quiet" aria-current={f.path === top ? 'true' : undefined} title={visible(f.path)} onClick={() => onJump(f.path)}>
              <span class="diff-name"><bdi>{visible(f.path)}</bdi></span>
              <span class="plus">{f.added > 0 && `+${f.added}`}</span> <span class="minus">{f.deleted > 0 && `−${f.deleted}`}</span>
            </button>
          </li>
        ))}
      </ul>
      {!!diff.more && <p class="hint">and {plural(diff.more, 'file')} more</p>}
    </nav>
  )
}

const rowHeight = 20

/** What a row will take, counting the characters of its lines; most are right. */
function guess(row: Row, width: number, split: boolean): number {
  if (row.is === 'file') return 42
  if (row.is === 'hunk') return 28
  if (row.is === 'note') return 40
  if (row.is === 'comment') return 74
  if (row.is === 'editor') return 150
  const columns = Math.max(Math.floor((split ? width / 2 : width) - (width < 600 ? 52 : split ? 70 : 110)) / 7.25, 10)
  const lines = (line?: Line) => Math.max(Math.ceil((line?.text.length ?? 0) / columns), 1)
  return rowHeight * (row.is === 'line' ? lines(row.line) : Math.max(lines(row.old), lines(row.new)))
}

/** The file that a row is of: that of the last file row up to it. */
function pathAt(rows: Row[], index: number): string {
  for (let i = index; i >= 0; i--) {
    const row = rows[i]
    if (row?.is === 'file' || row?.is === 'line' || row?.is === 'pair') return row.file.path
  }
  return ''
}

function lineOf(files: PatchFile[], c: Comment): Line | undefined {
  return files.find((f) => f.path === c.path)?.hunks.flatMap((h) => h.lines).find((l) => sideOf(l) === c.side && numberOf(l) === c.line)
}

function sorted(comments: Comment[], files: PatchFile[]): Comment[] {
  const order = new Map(files.map((f, i) => [f.path, i]))
  return [...comments].sort((a, b) => (order.get(a.path) ?? 1e9) - (order.get(b.path) ?? 1e9) || a.line - b.line)
}

const wideQuery = window.matchMedia('(min-width: 900px)')
