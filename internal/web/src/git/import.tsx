import { useState } from 'preact/hooks'
import { go } from '../nav'
import { prefs, rememberDirectory } from '../prefs'
import { mark, putWorkspace, state, toast } from '../store'
import { Dialog, Field } from '../ui/dialog'
import { plural, visible } from '../words'
import * as api from './api'
import type { Imported } from './api'

/** Makes workspaces of worktrees that exist already, after it said of which. */
export default function Import({ onClose }: { onClose: () => void }) {
  const known = [...new Set([...prefs.directories, ...[...state.workspaces.values()].flatMap((w) => w.repository ?? [])])]
  const [directory, setDirectory] = useState(known[0] ?? '')
  const [plan, setPlan] = useState<Imported>()
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError('')
    const asked = mark()
    try {
      const done = await api.importWorktrees(directory.trim(), !plan)
      if (!plan) setPlan(done)
      else {
        rememberDirectory(directory.trim())
        for (const w of done.workspaces) putWorkspace(w, asked)
        toast('info', `${plural(done.workspaces.length, 'workspace')} imported.`)
        if (done.workspaces[0]) go({ workspace: done.workspaces[0].label })
        return onClose()
      }
    } catch (problem) {
      setError((problem as Error).message)
    }
    setBusy(false)
  }
  const nothing = plan && plan.workspaces.length === 0 && plan.deleted.length === 0
  return (
    <Dialog title="Import worktrees" onClose={onClose}>
      <form onSubmit={submit}>
        <p class="lead">Worktrees that exist already become workspaces. Deleting such a workspace leaves the worktree as it is.</p>
        <Field label="Repository" hint="A path in it, on the machine of the server.">
          <input name="directory" class="mono" required autofocus list="import-directories" placeholder="/home/me/project" value={directory} autocomplete="off" spellcheck={false}
            onInput={(e) => { setDirectory(e.currentTarget.value); setPlan(undefined) }} />
          <datalist id="import-directories">{known.map((d) => <option key={d} value={d} />)}</datalist>
        </Field>
        {nothing && <p class="safe">No worktree there can be imported.</p>}
        {plan && plan.workspaces.length > 0 && <Names title="Becomes a workspace" list={plan.workspaces.map((w) => `${w.name}  ${w.root}`)} />}
        {plan && plan.deleted.length > 0 && <Names title="Can be restored again" list={plan.deleted.map((w) => w.name)} />}
        {plan && plan.passed.length > 0 && <Names title="Is left out" list={plan.passed.map((p) => `${p.path}: ${p.why}`)} />}
        {error && <p class="problem" role="alert">{visible(error)}</p>}
        <footer>
          <button type="button" class="quiet" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={busy || !directory.trim() || nothing}>{busy ? 'Working…' : plan ? 'Import' : 'Look'}</button>
        </footer>
      </form>
    </Dialog>
  )
}

function Names({ title, list }: { title: string; list: string[] }) {
  return (
    <div class="loss-list">
      <strong>{title}</strong>
      <ul>{list.map((item) => <li key={item} class="mono">{visible(item)}</li>)}</ul>
    </div>
  )
}
