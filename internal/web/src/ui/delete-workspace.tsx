import { useEffect, useState } from 'preact/hooks'
import * as api from '../api'
import type { Deleted, Loss, Session, Workspace } from '../api'
import { restoreWorkspace } from '../git/restore'
import { go, place } from '../nav'
import { isLive, removeWorkspace, report, sessionsOf, toast } from '../store'
import { plural, visible } from '../words'
import { Dialog } from './dialog'
import { LossList, LossLists, isEmpty, lesser, summary, work } from './loss'

/** What the dialog knows of a deletion that has not happened. */
interface Forecast {
  lost: Loss
  running: Session[]
  transcripts: number
  restorable: boolean
  unkept: string[]
  teardown: string[]
  workers: Deleted[]
}

/** Shows what a deletion keeps and what it destroys, before it happens, and takes a consent for each kind. */
export function DeleteWorkspace({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const [known, setKnown] = useState<Forecast>()
  const [running, setRunning] = useState<Session[]>(() => sessionsOf(workspace.id).filter(isLive))
  const [consent, setConsent] = useState<api.DeleteConsent>({ discardWork: false, stopSessions: false })
  const [unknown, setUnknown] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const agree = (change: Partial<api.DeleteConsent>) => setConsent((before) => ({ ...before, ...change }))

  useEffect(() => void look(workspace.id).then((found) => {
    if (found instanceof Error) {
      setError(found.message)
      return setUnknown(found instanceof api.Problem && found.code === 'loss-unknown')
    }
    setKnown(found)
    setRunning(found.running.filter(isLive))
  }), [])

  const lost = known?.lost
  const workers = known?.workers ?? []
  const losesWork = lost !== undefined && (!isEmpty(lost) || workers.some((w) => !isEmpty(w.lost)))
  const runs = running.length + workers.reduce((n, w) => n + (w.stopped?.length ?? 0), 0)
  const allowed = (known !== undefined || unknown)
    && (!(losesWork || unknown) || consent.discardWork) && (runs === 0 || consent.stopSessions) && (workers.length === 0 || !!consent.workers)

  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError('')
    try {
      const done = await api.deleteWorkspace(workspace.id, consent)
      for (const w of done.workers ?? []) removeWorkspace(w.workspace.id)
      removeWorkspace(workspace.id)
      const undo = { label: 'Undo', run: () => void restoreWorkspace(workspace).catch(report) }
      toast('info', `Workspace ${workspace.label} is deleted.`, done.restorable || workspace.mode === 'worktree' ? undo : undefined)
      for (const warning of done.warnings ?? []) toast('error', visible(warning))
      if (place().workspace === workspace.label) go({})
      onClose()
    } catch (problem) {
      if (problem instanceof api.Problem && known) {
        if (problem.lost) setKnown({ ...known, lost: problem.lost })
        if (problem.sessions) setRunning(problem.sessions.filter(isLive))
      }
      setError((problem as Error).message)
      setBusy(false)
    }
  }

  return (
    <Dialog title={`Delete ${workspace.label}?`} onClose={onClose}>
      <form onSubmit={submit}>
        <p class="lead">{whatGoes(workspace)}</p>
        {!known && !error && <p class="hint" role="status">Looking for work that would be lost…</p>}
        {known && !losesWork && runs === 0 && workers.length === 0 && (
          <p class="safe">Nothing would be lost: no changes, no commits that are only here, nothing running.</p>
        )}
        {lost && !isEmpty(lost) && (
          <section class="loss">
            <h3>Work that is nowhere else</h3>
            <LossLists lost={lost} of={work} />
            {lost.operation && <p>A {visible(lost.operation)} is in progress.</p>}
            {lost.truncated && <p class="hint">The lists are shortened: there is more.</p>}
          </section>
        )}
        {workers.length > 0 && <Workers workers={workers} consent={consent} agree={agree} />}
        {(losesWork || unknown) && (
          <Consent name="discard-work" checked={consent.discardWork} set={(discardWork) => agree({ discardWork })}>
            {unknown ? 'Delete it although nobody knows what would be lost' : 'Discard this work'}</Consent>
        )}
        {runs > 0 && (
          <section class="loss">
            <h3>Still running</h3>
            {running.length > 0 && <LossList title={plural(running.length, 'session')} items={running.map((s) => (s.title ? `${s.name}  ${s.title}` : s.name))} />}
            <Consent name="stop-sessions" checked={consent.stopSessions} set={(stopSessions) => agree({ stopSessions })}>
              Stop {runs === 1 ? 'this session' : 'these sessions'}</Consent>
          </section>
        )}
        {known && <Fate workspace={workspace} known={known} losesWork={losesWork} consent={consent} agree={agree} />}
        {error && <p class="problem" role="alert">{visible(error)}</p>}
        <footer>
          <button type="button" class="quiet" autofocus onClick={onClose}>Keep it</button>
          <button type="submit" class="danger" disabled={!allowed || busy}>{busy ? 'Deleting…' : 'Delete workspace'}</button>
        </footer>
      </form>
    </Dialog>
  )
}

/** What is kept, what is gone for good, and what runs before. */
function Fate({ workspace, known, losesWork, consent, agree }: { workspace: Workspace; known: Forecast; losesWork: boolean; consent: api.DeleteConsent; agree: (change: Partial<api.DeleteConsent>) => void }) {
  const ignored = lesser.some(({ key }) => known.lost[key]?.length)
  // A worktree without work that is only there is made again from its commit.
  const restorable = known.restorable || (workspace.mode === 'worktree' && !losesWork)
  const gone = [...known.unkept, ...(losesWork && !known.restorable ? ['all of the work above'] : [])]
  return (
    <>
      {(workspace.mode !== 'in-place' && restorable || known.transcripts > 0 && !consent.forgetTranscripts) && (
        <section class="fate">
          <h3>Kept</h3>
          {workspace.mode !== 'in-place' && restorable && <p>{losesWork ? 'A snapshot of this work' : 'What is needed to make it again'}{!known.restorable || !ignored ? '' : known.unkept.length > 0 ? ', small ignored files too' : ', ignored files too'}.
            <strong> Restore a deleted workspace…</strong> brings it back, and so does <code>middleman restore {workspace.label}</code>.</p>}
          {known.transcripts > 0 && !consent.forgetTranscripts && <p>The {known.transcripts === 1 ? 'transcript of its session' : `transcripts of its ${known.transcripts} sessions`}.</p>}
        </section>
      )}
      {(gone.length > 0 || consent.forgetTranscripts) && (
        <section class="fate gone">
          <h3>Gone for good</h3>
          {gone.length > 0 && <LossList title="" items={gone} />}
          {consent.forgetTranscripts && <p>The {known.transcripts === 1 ? 'transcript of its session' : `transcripts of its ${known.transcripts} sessions`}.</p>}
        </section>
      )}
      {ignored && (
        <section>
          <h3>Deleted with it, and no reason to ask</h3>
          <LossLists lost={known.lost} of={lesser} />
        </section>
      )}
      {known.teardown.length > 0 && (
        <section>
          <h3>Runs before</h3>
          <LossList title="" items={known.teardown} />
          <Consent name="skip-teardown" checked={!!consent.skipTeardown} set={(skipTeardown) => agree({ skipTeardown })}>Skip this teardown</Consent>
        </section>
      )}
      {known.transcripts > 0 && (
        <Consent name="forget" checked={!!consent.forgetTranscripts} set={(forgetTranscripts) => agree({ forgetTranscripts })}>
          Do not keep {known.transcripts === 1 ? 'the transcript of its session' : `the transcripts of its ${known.transcripts} sessions`}</Consent>
      )}
    </>
  )
}

function Workers({ workers, consent, agree }: { workers: Deleted[]; consent: api.DeleteConsent; agree: (change: Partial<api.DeleteConsent>) => void }) {
  return (
    <section class="loss">
      <h3>Workers that its sessions started</h3>
      {workers.map((w) => (
        <div key={w.workspace.id} class="loss-list">
          <strong>{visible(w.workspace.label)}</strong>
          <span class="hint"> {[summary(w.lost), w.stopped?.length ? `${plural(w.stopped.length, 'session')} running` : ''].filter(Boolean).join(', ')}</span>
          {!isEmpty(w.lost) && <LossLists lost={w.lost} of={work} />}
          {!!w.unkept?.length && <LossList title="Gone for good" items={w.unkept} />}
        </div>
      ))}
      <Consent name="workers" checked={!!consent.workers} set={(yes) => agree({ workers: yes })}>Delete {plural(workers.length, 'workspace')} of workers first</Consent>
    </section>
  )
}

function Consent({ name, checked, set, children }: { name: string; checked: boolean; set: (yes: boolean) => void; children: preact.ComponentChildren }) {
  return (
    <label class="consent">
      <input type="checkbox" name={name} checked={checked} onChange={(e) => set(e.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  )
}

/** Asks what a deletion would destroy, and keep. */
async function look(id: string): Promise<Forecast | Error> {
  try {
    const d = await api.deleteWorkspace(id, { discardWork: false, stopSessions: false }, true)
    return {
      lost: d.lost, running: d.stopped ?? [], transcripts: d.transcripts.sessions, restorable: d.restorable,
      unkept: d.unkept ?? [], teardown: d.teardown ?? [], workers: d.workers ?? [],
    }
  } catch (problem) {
    return problem as Error
  }
}

function whatGoes(w: Workspace): string {
  if (w.mode === 'in-place') return 'The directory stays as it is; only middleman’s record of it is deleted.'
  if (w.mode === 'directory') return 'The directory and everything in it is deleted.'
  if (!w.branch) return 'The worktree is deleted.'
  return w.own_branch ? `The worktree and its branch ${visible(w.branch)} are deleted.` : `The worktree is deleted. The branch ${visible(w.branch)} stays, because it was not made for this workspace.`
}
