import { useState } from 'preact/hooks'
import type { Loss } from '../api'
import { plural, visible } from '../words'

interface Kind { key: 'changed' | 'untracked' | 'stashed' | 'commits' | 'large' | 'ignored' | 'merged' | 'abandoned'; one: string; many: string }

/** What is a reason to refuse a deletion. */
export const work: Kind[] = [
  { key: 'changed', one: 'changed file', many: 'changed files' },
  { key: 'untracked', one: 'untracked file', many: 'untracked files' },
  { key: 'stashed', one: 'stash', many: 'stashes' },
  { key: 'commits', one: 'commit that is nowhere else', many: 'commits that are nowhere else' },
  { key: 'large', one: 'ignored file too large to be kept', many: 'ignored files too large to be kept' },
]

/** These go too, and are no reason to refuse. */
export const lesser: Kind[] = [
  { key: 'ignored', one: 'ignored file', many: 'ignored files' },
  { key: 'merged', one: 'commit whose changes are in the base', many: 'commits whose changes are in the base' },
  { key: 'abandoned', one: 'commit that only the reflog has', many: 'commits that only the reflog has' },
]

export function isEmpty(lost: Loss): boolean {
  return !lost.operation && work.every(({ key }) => !lost[key]?.length)
}

/** How many there are: a directory with many untracked files is one entry. */
const amount = (lost: Loss, key: Kind['key']): number => (lost[key]?.length ?? 0) + (key === 'untracked' ? lost.untracked_more ?? 0 : 0)

/** What would be lost, in one line. */
export function summary(lost: Loss): string {
  const parts = work.flatMap(({ key, one, many }) => (lost[key]?.length ? plural(amount(lost, key), one, many) : []))
  return [...parts, ...(lost.operation ? [`a ${visible(lost.operation)} in progress`] : [])].join(', ') || 'no work that is only there'
}

export function LossLists({ lost, of }: { lost: Loss; of: Kind[] }) {
  return (
    <>
      {of.map(({ key, one, many }) => {
        const items = lost[key] ?? []
        return items.length > 0 && <LossList key={key} title={plural(amount(lost, key), one, many)} items={items} />
      })}
    </>
  )
}

const listed = 6

/** A list whose end opens. */
export function LossList({ title, items }: { title: string; items: string[] }) {
  const [open, setOpen] = useState(false)
  return (
    <div class="loss-list">
      {title && <strong>{title}</strong>}
      <ul class={open ? 'all' : ''}>
        {(open ? items : items.slice(0, listed)).map((item) => <li key={item} class="mono">{visible(item)}</li>)}
      </ul>
      {items.length > listed && (
        <button type="button" class="quiet small" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? 'Show less' : `and ${items.length - listed} more`}</button>
      )}
    </div>
  )
}
