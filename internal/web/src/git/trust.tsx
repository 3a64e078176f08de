import { useEffect, useState } from 'preact/hooks'
import type { Workspace } from '../api'
import { toast } from '../store'
import { Dialog } from '../ui/dialog'
import { visible, visibleLines } from '../words'
import * as api from './api'
import type { RepoConfig } from './api'

/** Shows the configuration of a checkout in full, and takes the user's agreement to exactly that. */
export default function Trust({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const [config, setConfig] = useState<RepoConfig>()
  const [setup, setSetup] = useState(false)
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const load = () => api.readConfig(workspace.id).then(setConfig, (problem: Error) => setError(problem.message))
  useEffect(() => void load(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (!config?.hash) return
    setBusy(true)
    setError('')
    try {
      await api.trust(workspace.id, config.hash, setup)
      toast('info', setup ? 'Agreed, and its setup has run.' : 'Agreed.')
      onClose()
    } catch (problem) {
      setError((problem as Error).message)
      setBusy(false)
      await load() // it may be another content by now
    }
  }
  return (
    <Dialog title={`Repository configuration of ${workspace.label}`} onClose={onClose}>
      <form onSubmit={submit}>
        {!config && !error && <p class="hint" role="status">Reading…</p>}
        {config && !config.present && <p class="lead">The checkout has no <code>{visible(config.file || '.middleman.toml')}</code>.</p>}
        {config?.present && (
          <>
            <p class="lead">{config.trusted ? 'You agreed to exactly this content.' : 'Nothing of it is used before you agree. It can name commands that run on this machine, as you.'}</p>
            <pre class="request" tabIndex={0} aria-label="The configuration">{visibleLines(config.content ?? '')}</pre>
            {config.problem && <p class="problem">{visible(config.problem)}</p>}
            {!config.trusted && !config.problem && (
              <label class="consent"><input type="checkbox" name="setup" checked={setup} onChange={(e) => setSetup(e.currentTarget.checked)} />Run its setup in this workspace now</label>
            )}
          </>
        )}
        {error && <p class="problem lines" role="alert">{visibleLines(error)}</p>}
        <footer>
          <button type="button" class="quiet" autofocus onClick={onClose}>Close</button>
          {config?.present && !config.trusted && !config.problem && <button type="submit" class="primary" disabled={busy}>{busy ? 'Agreeing…' : 'Agree to this content'}</button>}
        </footer>
      </form>
    </Dialog>
  )
}
