import { useState } from 'preact/hooks'
import * as api from '../api'
import type { Mode } from '../api'
import { go } from '../nav'
import { prefs, rememberDirectory } from '../prefs'
import { mark, putWorkspace, state } from '../store'
import { Dialog, Field } from './dialog'
import { ProgramFields, sessionOf, shell } from './program'

const modes: { mode: Mode; title: string; text: string }[] = [
  { mode: 'worktree', title: 'Worktree', text: 'A git worktree on a branch of its own' },
  { mode: 'directory', title: 'Directory', text: 'A new, empty directory' },
  { mode: 'in-place', title: 'In place', text: 'Your directory as it is, never deleted' },
]

/** Paths on a machine to offer: remembered ones of the server’s own, and those of known workspaces. */
function suggestions(runtime: string): string[] {
  const known = [...state.workspaces.values()].filter((w) => (w.runtime ?? '') === runtime)
    .flatMap((w) => w.repository ?? (w.mode === 'in-place' ? w.root : []))
  return [...new Set([...(runtime ? [] : prefs.directories), ...known])]
}

interface Props {
  directory?: string
  /** The machine to make it on; the server’s own otherwise. */
  runtime?: string
  onClose: () => void
}

export function NewWorkspace({ directory: given, runtime: on = '', onClose }: Props) {
  const [runtime, setRuntime] = useState(on)
  const paths = suggestions(runtime)
  const machines = [...state.runtimes.keys()]
  const [mode, setMode] = useState<Mode>('worktree')
  const [directory, setDirectory] = useState(given ?? paths[0] ?? '')
  const [name, setName] = useState('')
  const [base, setBase] = useState('')
  const [program, setProgram] = useState(shell)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const needsDirectory = mode !== 'directory'

  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError('')
    const asked = mark()
    try {
      const made = await api.createWorkspace({
        mode,
        name: name.trim() || undefined,
        directory: needsDirectory ? directory.trim() : undefined,
        base: (mode === 'worktree' && base.trim()) || undefined,
        session: sessionOf(program, []),
      }, runtime)
      if (needsDirectory && !runtime) rememberDirectory(directory.trim())
      putWorkspace(made.workspace, asked)
      go({ workspace: made.workspace.label })
      onClose()
    } catch (problem) {
      setError((problem as Error).message)
      setBusy(false)
    }
  }

  return (
    <Dialog title="New workspace" onClose={onClose}>
      <form onSubmit={submit}>
        {machines.length > 0 && (
          <Field label="Machine">
            <select name="machine" value={runtime} onChange={(e) => { setRuntime(e.currentTarget.value); setProgram({ ...program, profile: '' }) }}>
              <option value="">This server’s</option>
              {machines.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </Field>
        )}
        <div class="choices" role="radiogroup" aria-label="Kind of workspace">
          {modes.map((m) => (
            <label key={m.mode} class={mode === m.mode ? 'choice chosen' : 'choice'}>
              <input type="radio" name="mode" checked={mode === m.mode} onChange={() => setMode(m.mode)} />
              <strong>{m.title}</strong>
              <span>{m.text}</span>
            </label>
          ))}
        </div>
        {needsDirectory && (
          <Field label={mode === 'worktree' ? 'Repository' : 'Directory'}
            hint={mode === 'worktree' ? 'A path in the repository; a sub-directory opens the terminal there.' : undefined}>
            <input class="mono" name="directory" list="known-directories" required placeholder="/home/me/project"
              value={directory} onInput={(e) => setDirectory(e.currentTarget.value)} autocomplete="off" spellcheck={false} />
            <datalist id="known-directories">{paths.map((p) => <option key={p} value={p} />)}</datalist>
          </Field>
        )}
        <div class="pair">
          <Field label="Name">
            <input name="name" placeholder="chosen for you" value={name} autocomplete="off" spellcheck={false}
              autofocus={directory !== ''} onInput={(e) => setName(e.currentTarget.value)} />
          </Field>
          {mode === 'worktree' && (
            <Field label="Base">
              <input name="base" class="mono" placeholder="HEAD" value={base} autocomplete="off" spellcheck={false}
                onInput={(e) => setBase(e.currentTarget.value)} />
            </Field>
          )}
        </div>
        <ProgramFields from={runtime && `/runtimes/${runtime}`} program={program} onChange={setProgram}
          commandHint="Run by sh -c. Empty starts your shell." />
        {error && <p class="problem" role="alert">{error}</p>}
        <footer>
          <button type="button" class="quiet" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={busy}>{busy ? 'Creating…' : 'Create workspace'}</button>
        </footer>
      </form>
    </Dialog>
  )
}
