import { visible, visibleLines } from '../words'
import { statusSigns, statusWords, useStatus } from './status'

/** How a workspace differs from what it came from, in a few signs; nothing while that is not known, or where there is nothing. */
export function Counts({ workspace }: { workspace: string }) {
  const status = useStatus(workspace)
  if (!status) return null
  const signs = statusSigns(status)
  if (signs.length === 0 && !status.operation) return null
  return (
    <span class="counts" title={visibleLines(statusWords(status))} role="img" aria-label={signs.map((s) => visible(s.words)).join(', ')}>
      {status.operation && <span class="sign bad">{visible(status.operation)}</span>}
      {signs.map((s) => <span key={s.sign[0]} class={`sign ${s.tone ?? ''}`}>{s.sign}</span>)}
    </span>
  )
}
