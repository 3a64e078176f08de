import { useState } from 'preact/hooks'
import type { Workspace } from '../api'
import { Dialog, Field } from '../ui/dialog'
import { plural, visible, visibleLines } from '../words'
import * as api from './api'
import type { Pushed } from './api'
import { usePlan } from './plan'

/** Pushes the workspace's branch, and shows where to make a pull request of it. */
export default function Push({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const [remote, setRemote] = useState('')
  const [done, setDone] = useState<Pushed>()
  const request = (dryRun: boolean) => api.push(workspace.id, { remote: remote.trim() || undefined, dry_run: dryRun })
  const { plan, error, busy, run } = usePlan<Pushed>(() => request(true), remote)
  const submit = (event: Event) => run(event, async () => setDone(await request(false)))
  if (done) return <Done done={done} onClose={onClose} />
  return (
    <Dialog title={`Push ${workspace.label}`} onClose={onClose}>
      <form onSubmit={submit}>
        <Field label="Remote" hint="Empty is the one that git would push to.">
          <input name="remote" class="mono" value={remote} placeholder={plan?.remote ?? ''} autocomplete="off" spellcheck={false} onInput={(e) => setRemote(e.currentTarget.value)} />
        </Field>
        {!plan && !error && <p class="hint" role="status">Looking what would be pushed…</p>}
        {plan && <p class="lead">{plural(plan.commits, 'commit')} of {visible(plan.branch)} to {visible(plan.upstream)}. Commits of the remote are never overwritten.</p>}
        {plan?.warnings?.map((w) => <p key={w} class="hint">{visible(w)}</p>)}
        {error && <p class="problem lines" role="alert">{visibleLines(error)}</p>}
        <footer>
          <button type="button" class="quiet" autofocus onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={busy || !plan}>{busy ? 'Pushing…' : 'Push'}</button>
        </footer>
      </form>
    </Dialog>
  )
}

function Done({ done, onClose }: { done: Pushed; onClose: () => void }) {
  const what = { new: 'is new there', updated: 'is updated', 'up to date': 'had everything already', unknown: 'was pushed' }[done.done]
  return (
    <Dialog title="Pushed" onClose={onClose}>
      <form method="dialog">
        <p class="safe">{visible(done.upstream)} {what}.</p>
        {done.link && /^https?:\/\//i.test(done.link) && (
          <p class="lead">Make a pull request: <a class="text-link" href={done.link} target="_blank" rel="noopener noreferrer">{visible(done.link)}</a></p>
        )}
        {done.warnings?.map((w) => <p key={w} class="hint">{visible(w)}</p>)}
        <footer><button type="button" class="primary" autofocus onClick={onClose}>Close</button></footer>
      </form>
    </Dialog>
  )
}
