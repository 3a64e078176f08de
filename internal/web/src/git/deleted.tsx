import { useEffect, useState } from 'preact/hooks'
import { onEach } from '../store'
import { Dialog } from '../ui/dialog'
import { ago, plural, visible } from '../words'
import * as api from './api'
import type { Deleted as Gone } from './api'
import { labelOf, restoreWorkspace } from './restore'

/** Lists the deleted workspaces, and brings one back. */
export default function Deleted({ onClose }: { onClose: () => void }) {
  const [list, setList] = useState<Gone[]>()
  const [error, setError] = useState('')
  const [busy, setBusy] = useState('')
  useEffect(() => {
    onEach(api.listDeleted).then(({ answers, problems }) => {
      setList(answers.flat())
      setError(problems.join(' '))
    })
  }, [])
  const restore = async (w: Gone) => {
    setBusy(w.id)
    setError('')
    try {
      await restoreWorkspace(w)
      onClose()
    } catch (problem) {
      setError((problem as Error).message)
      setBusy('')
    }
  }
  return (
    <Dialog title="Deleted workspaces" onClose={onClose}>
      <form method="dialog">
        {!list && !error && <p class="hint" role="status">Reading…</p>}
        {list?.length === 0 && <p class="lead">No deleted workspace is kept.</p>}
        <ul class="logins">
          {list?.map((w) => (
            <li key={w.id}>
              <span class="login-text">
                <strong>{visible(labelOf(w))}</strong>
                <span class="hint">{[w.repository_name && visible(w.repository_name), w.branch && visible(w.branch), w.deleted_at && `deleted ${ago(w.deleted_at)} ago`.replace('now ago', 'just now')].filter(Boolean).join(' · ')}</span>
              </span>
              {w.not_restorable ? <span class="hint">transcripts only</span> : (
                <button type="button" class="quiet outlined" disabled={busy !== ''} aria-label={`Restore ${labelOf(w)}`} onClick={() => void restore(w)}>{busy === w.id ? 'Restoring…' : 'Restore'}</button>
              )}
            </li>
          ))}
        </ul>
        {error && <p class="problem" role="alert">{visible(error)}</p>}
        <footer>
          <span class="hint grow">{list && list.length > 0 && plural(list.length, 'workspace')}</span>
          <button type="button" class="quiet" autofocus onClick={onClose}>Close</button>
        </footer>
      </form>
    </Dialog>
  )
}
