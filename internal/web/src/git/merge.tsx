import { useState } from 'preact/hooks'
import type { Workspace } from '../api'
import { toast } from '../store'
import { Dialog, Field } from '../ui/dialog'
import { plural, visible, visibleLines } from '../words'
import * as api from './api'
import type { Merged } from './api'
import { usePlan } from './plan'

const strategies = [
  { value: 'merge', text: 'Merge: its commits stay as they are' },
  { value: 'rebase', text: 'Rebase: copies of them follow the other branch' },
  { value: 'squash', text: 'Squash: one commit has all of it' },
]

/** Says what a merge would do before it is done. */
export default function Merge({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const [into, setInto] = useState('')
  const [strategy, setStrategy] = useState('merge')
  const [message, setMessage] = useState('')
  const request = (dryRun: boolean) =>
    api.merge(workspace.id, { into: into.trim() || undefined, strategy, message: dryRun ? undefined : message.trim() || undefined, dry_run: dryRun })
  const { plan, error, busy, run } = usePlan<Merged>(() => request(true), into, strategy)

  const submit = (event: Event) => run(event, async () => {
    const done = await request(false)
    toast('info', done.commits > 0 ? `${plural(done.commits, 'commit')} of ${visible(done.branch)} merged into ${visible(done.into)}.` : `${visible(done.into)} had everything already.`)
    for (const warning of done.warnings ?? []) toast('error', visible(warning))
    onClose()
  })
  return (
    <Dialog title={`Merge ${workspace.label}`} onClose={onClose}>
      <form onSubmit={submit}>
        <Field label="Into" hint="A local branch. Empty is the base.">
          <input name="into" class="mono" value={into} placeholder={plan?.into ?? workspace.base ?? 'its base'} autocomplete="off" spellcheck={false} onInput={(e) => setInto(e.currentTarget.value)} />
        </Field>
        <Field label="How">
          <select name="strategy" value={strategy} onChange={(e) => setStrategy(e.currentTarget.value)}>
            {strategies.map((s) => <option key={s.value} value={s.value}>{s.text}</option>)}
          </select>
        </Field>
        {plan && !plan.fast_forward && plan.commits > 0 && (
          <Field label="Message of the commit">
            <input name="message" value={message} placeholder="git’s own" autocomplete="off" onInput={(e) => setMessage(e.currentTarget.value)} />
          </Field>
        )}
        {!plan && !error && <p class="hint" role="status">Trying the merge without changing anything…</p>}
        {plan && <Plan plan={plan} />}
        {error && <p class="problem lines" role="alert">{visibleLines(error)}</p>}
        <footer>
          <button type="button" class="quiet" autofocus onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={busy || !plan || plan.commits === 0}>{busy ? 'Merging…' : `Merge${plan ? ` into ${visible(plan.into)}` : ''}`}</button>
        </footer>
      </form>
    </Dialog>
  )
}

function Plan({ plan }: { plan: Merged }) {
  if (plan.commits === 0) return <p class="safe">{visible(plan.into)} has everything already: there is nothing to merge.</p>
  return (
    <section class="plan">
      <p class="safe">{plural(plan.commits, 'commit')} of {visible(plan.branch)} can be merged into {visible(plan.into)}{plan.fast_forward ? ', without a commit of its own' : ''}.</p>
      {plan.checkout && <p class="hint">The checkout {visible(plan.checkout)} is brought forward with it.</p>}
      {plan.check && plan.check.length > 0 && <p class="hint">First these run: {plan.check.map((c) => <code key={c}>{visible(c)}</code>)}</p>}
      {plan.warnings?.map((w) => <p key={w} class="hint">{visible(w)}</p>)}
    </section>
  )
}
