import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import type { TerminalView } from '../term/view'
import { Close, Down, Up } from './icons'

const matchColours = {
  decorations: {
    matchBackground: '#5a4d1e', activeMatchBackground: '#c28f1d',
    matchOverviewRuler: '#a58424', activeMatchColorOverviewRuler: '#f0b429',
  },
}

interface How {
  caseSensitive: boolean
  wholeWord: boolean
  regex: boolean
}

let last: How = { caseSensitive: false, wholeWord: false, regex: false } // as it was left

/** Finds text in what the terminal keeps. */
export function SearchBar({ view, onClose }: { view: TerminalView; onClose: () => void }) {
  const [query, setQuery] = useState('')
  const [found, setFound] = useState('')
  const [how, setHow] = useState(last)
  const input = useRef<HTMLInputElement>(null)
  // Before the first paint, because the next key may be typed right after it.
  useLayoutEffect(() => {
    input.current?.focus()
    const results = view.search.onDidChangeResults(({ resultIndex, resultCount }) =>
      setFound(resultCount === 0 ? 'none' : resultIndex < 0 ? `${resultCount} found` : `${resultIndex + 1} of ${resultCount}`))
    return () => {
      results.dispose()
      view.search.clearDecorations()
    }
  }, [])
  const find = (step: 1 | -1, text: string, change: How, incremental = false) => {
    if (change.regex && !isRegExp(text)) return setFound('no regex')
    const options = { ...matchColours, ...change, incremental }
    if (step < 0) view.search.findPrevious(text, options)
    else view.search.findNext(text, options)
  }
  const turn = (change: Partial<How>) => {
    last = { ...how, ...change }
    setHow(last)
    view.search.clearDecorations()
    if (query) find(1, query, last, true)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onClose()
    if (event.key === 'Enter') find(event.shiftKey ? -1 : 1, query, how)
  }
  return (
    <div class="search" role="search">
      <input ref={input} aria-label="Search the terminal" placeholder="Search" value={query} spellcheck={false} autocapitalize="off"
        onKeyDown={onKeyDown} onInput={(e) => { setQuery(e.currentTarget.value); find(1, e.currentTarget.value, how, true) }} />
      <Option label="Match case" on={how.caseSensitive} set={(caseSensitive) => turn({ caseSensitive })}>Aa</Option>
      <Option label="Whole words" on={how.wholeWord} set={(wholeWord) => turn({ wholeWord })}>ab</Option>
      <Option label="Regular expression" on={how.regex} set={(regex) => turn({ regex })}>.*</Option>
      <span class="hint" role="status">{query && found}</span>
      <button class="quiet square small" aria-label="Previous match" onClick={() => find(-1, query, how)}><Up /></button>
      <button class="quiet square small" aria-label="Next match" onClick={() => find(1, query, how)}><Down /></button>
      <button class="quiet square small" aria-label="Close search" onClick={onClose}><Close /></button>
    </div>
  )
}

function Option({ label, on, set, children }: { label: string; on: boolean; set: (on: boolean) => void; children: ComponentChildren }) {
  return <button class="quiet square small option" aria-label={label} title={label} aria-pressed={on} onClick={() => set(!on)}>{children}</button>
}

function isRegExp(text: string): boolean {
  try {
    return Boolean(new RegExp(text))
  } catch {
    return false // half typed, perhaps
  }
}
