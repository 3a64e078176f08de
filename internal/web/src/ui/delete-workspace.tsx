import { useEffect, useState } from 'preact/hooks'
import * as api from '../api'
import type { Loss, Session, Workspace } from '../api'
import { go, place } from '../nav'
import { isLive, removeWorkspace, sessionsOf, toast } from '../store'
import { plural } from '../words'
import { Dialog } from './dialog'

const listed = 6

interface Kind { key: 'changed' | 'untracked' | 'stashed' | 'commits' | 'ignored' | 'abandoned'; one: string; many: string }

const kinds: Kind[] = [
  { key: 'changed', one: 'changed file', many: 'changed files' },
  { key: 'untracked', one: 'untracked file', many: 'untracked files' },
  { key: 'stashed', one: 'stash', many: 'stashes' },
  { key: 'commits', one: 'commit that is nowhere else', many: 'commits that are nowhere else' },
]

/** These go too, and are no reason to refuse. */
const lesser: Kind[] = [
  { key: 'ignored', one: 'ignored file', many: 'ignored files' },
  { key: 'abandoned', one: 'commit that only the reflog has', many: 'commits that only the reflog has' },
]

export function isEmpty(lost: Loss): boolean {
  return !lost.operation && kinds.every(({ key }) => !lost[key]?.length)
}

/** Shows what a deletion would destroy and takes a consent for each kind. */
export function DeleteWorkspace({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const [lost, setLost] = useState<Loss>()
  const [running, setRunning] = useState<Session[]>(() => sessionsOf(workspace.id).filter(isLive))
  const [discardWork, setDiscardWork] = useState(false)
  const [stopSessions, setStopSessions] = useState(false)
  const [kept, setKept] = useState(0)
  const [forgetTranscripts, setForgetTranscripts] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')

  const learn = (found?: Loss, sessions?: Session[]) => {
    if (found) setLost(found)
    if (sessions) setRunning(sessions.filter(isLive))
  }
  useEffect(() => {
    void look(workspace.id).then(({ lost, sessions, transcripts, error }) => {
      learn(lost, sessions)
      setKept(transcripts ?? 0)
      setError(error ?? '')
    })
  }, [])

  const losesWork = lost !== undefined && !isEmpty(lost)
  const allowed = lost !== undefined && (!losesWork || discardWork) && (running.length === 0 || stopSessions)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError('')
    try {
      const done = await api.deleteWorkspace(workspace.id, { discardWork, stopSessions, forgetTranscripts })
      removeWorkspace(workspace.id)
      toast('info', `Workspace ${workspace.label} is deleted.`)
      for (const warning of done.warnings ?? []) toast('error', warning)
      for (const name of done.unkept ?? []) toast('info', `Not kept: ${name}`)
      if (place().workspace === workspace.label) go({})
      onClose()
    } catch (problem) {
      if (problem instanceof api.Problem) learn(problem.lost, problem.sessions)
      setError((problem as Error).message)
      setBusy(false)
    }
  }

  return (
    <Dialog title={`Delete ${workspace.label}?`} onClose={onClose}>
      <form onSubmit={submit}>
        <p class="lead">{whatGoes(workspace)}</p>
        {lost === undefined && !error && <p class="hint" role="status">Looking for work that would be lost…</p>}
        {lost !== undefined && !losesWork && running.length === 0 && (
          <p class="safe">Nothing would be lost: no changes, no commits that are only here, nothing running.</p>
        )}
        {losesWork && (
          <section class="loss">
            <h3>Would be lost</h3>
            <LossLists lost={lost} of={kinds} />
            {lost.operation && <p>A {lost.operation} is in progress.</p>}
            {lost.truncated && <p class="hint">The lists are shortened: there is more.</p>}
            <label class="consent">
              <input type="checkbox" name="discard-work" checked={discardWork} onChange={(e) => setDiscardWork(e.currentTarget.checked)} />
              Discard this work
            </label>
            <p class="hint">A snapshot is kept: <code>middleman restore {workspace.label}</code> brings it back.</p>
          </section>
        )}
        {lost !== undefined && lesser.some(({ key }) => lost[key]?.length) && (
          <section>
            <h3>Also deleted</h3>
            <LossLists lost={lost} of={lesser} />
            <p class="hint">Small files are kept too. The others are listed after the delete.</p>
          </section>
        )}
        {running.length > 0 && (
          <section class="loss">
            <h3>Still running</h3>
            <LossList title={plural(running.length, 'session')} items={running.map((s) => s.title ? `${s.name}  ${s.title}` : s.name)} />
            <label class="consent">
              <input type="checkbox" name="stop-sessions" checked={stopSessions} onChange={(e) => setStopSessions(e.currentTarget.checked)} />
              Stop {running.length === 1 ? 'this session' : 'these sessions'}
            </label>
          </section>
        )}
        {kept > 0 && (
          <section>
            <p class="hint">
              The output of {plural(kept, 'session')} is kept: <code>middleman logs {workspace.label}</code> prints it,
              {' '}<code>middleman prune --transcripts {workspace.label}</code> removes it.
            </p>
            <label class="consent">
              <input type="checkbox" name="forget-transcripts" checked={forgetTranscripts} onChange={(e) => setForgetTranscripts(e.currentTarget.checked)} />
              Do not keep it
            </label>
          </section>
        )}
        {error && <p class="problem" role="alert">{error}</p>}
        <footer>
          <button type="button" class="quiet" autofocus onClick={onClose}>Keep it</button>
          <button type="submit" class="danger" disabled={!allowed || busy}>{busy ? 'Deleting…' : 'Delete workspace'}</button>
        </footer>
      </form>
    </Dialog>
  )
}

/** Asks what a deletion would destroy. */
async function look(id: string): Promise<{ lost?: Loss; sessions?: Session[]; transcripts?: number; error?: string }> {
  try {
    const { lost, stopped, transcripts } = await api.deleteWorkspace(id, { discardWork: false, stopSessions: false }, true)
    return { lost, sessions: stopped ?? [], transcripts: transcripts.sessions }
  } catch (problem) {
    return { error: (problem as Error).message }
  }
}

function whatGoes(w: Workspace): string {
  if (w.mode === 'in-place') return 'The directory stays as it is; only middleman’s record of it is deleted.'
  if (w.mode === 'directory') return 'The directory and everything in it is deleted.'
  return `The worktree is deleted, and also the branch ${w.branch ?? ''} if middleman made it.`
}

function LossLists({ lost, of }: { lost: Loss; of: Kind[] }) {
  return (
    <>
      {of.map(({ key, one, many }) => {
        const items = lost[key] ?? []
        return items.length > 0 && <LossList key={key} title={plural(items.length, one, many)} items={items} />
      })}
    </>
  )
}

function LossList({ title, items }: { title: string; items: string[] }) {
  return (
    <div class="loss-list">
      <strong>{title}</strong>
      <ul>
        {items.slice(0, listed).map((item) => <li key={item} class="mono">{item}</li>)}
        {items.length > listed && <li class="hint">and {items.length - listed} more</li>}
      </ul>
    </div>
  )
}
