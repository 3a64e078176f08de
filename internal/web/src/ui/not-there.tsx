import { useEffect, useState } from 'preact/hooks'
import { getWorkspace } from '../api'
import { listDeleted } from '../git/api'
import type { Deleted } from '../git/api'
import { labelOf, restoreWorkspace } from '../git/restore'
import { Problem } from '../http'
import { go, place } from '../nav'
import { onEach, report, state } from '../store'
import { ago } from '../words'

/** Where a link leads to no workspace: what became of it, and the way back. */
export function NotThere({ name }: { name: string }) {
  const several = useSeveral(name)
  const deleted = useDeleted(name)
  return (
    <div class="empty">
      <h2>No workspace {name}</h2>
      <p>{several || (deleted ? deletedWords(deleted) : 'It was deleted, or it never existed.')}</p>
      <div class="card-actions">
        <button class="quiet outlined" onClick={() => go({})}>All workspaces</button>
        {deleted && !deleted.not_restorable && <Restore workspace={deleted} />}
      </div>
    </div>
  )
}

/** What is no label may be a name that several have, or a longer form of a label: the server finds that. */
function useSeveral(name: string): string {
  const [several, setSeveral] = useState('')
  useEffect(() => {
    setSeveral('')
    const namesakes = [...state.workspaces.values()].filter((w) => w.name === name).map((w) => w.label)
    if (namesakes.length > 0) return setSeveral(`Several workspaces have this name: ${namesakes.join(', ')}`)
    if (!name.includes('@')) return
    getWorkspace(name)
      .then((w) => { if (place().workspace === name) go({ ...place(), workspace: w.label }, true) })
      .catch((e) => { if (e instanceof Problem && e.code === 'ambiguous') setSeveral(e.message) })
  }, [name])
  return several
}

/** The latest deleted workspace of that name, as far as a machine still knows it. */
function useDeleted(name: string): Deleted | undefined {
  const [deleted, setDeleted] = useState<Deleted>()
  useEffect(() => {
    let wanted = true
    setDeleted(undefined)
    onEach(listDeleted).then(({ answers }) => {
      if (wanted) setDeleted(answers.flat().find((w) => labelOf(w) === name))
    })
    return () => { wanted = false }
  }, [name])
  return deleted
}

function deletedWords(w: Deleted): string {
  const age = w.deleted_at ? ago(w.deleted_at) : 'now'
  const when = age === 'now' ? 'just now' : `${age} ago`
  return `It was deleted ${when}. ${w.not_restorable ? 'Only the transcripts of its sessions are kept.' : 'It can be restored.'}`
}

function Restore({ workspace }: { workspace: Deleted }) {
  const [busy, setBusy] = useState(false)
  const restore = () => {
    setBusy(true)
    restoreWorkspace(workspace).catch(report).finally(() => setBusy(false))
  }
  return <button class="primary" disabled={busy} onClick={restore}>{busy ? 'Restoring…' : 'Restore'}</button>
}
