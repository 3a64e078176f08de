import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import { compose, isComposing } from '../composing'
import type { TerminalView } from '../term/view'
import { Pen } from './icons'

const keys: [label: string, key: string, name?: string][] = [
  ['esc', '\x1b', 'Escape'], ['tab', '\t', 'Tab'],
  ['←', 'left', 'Arrow left'], ['↓', 'down', 'Arrow down'], ['↑', 'up', 'Arrow up'], ['→', 'right', 'Arrow right'],
  ['^C', '\x03'], ['pgup', 'pageup', 'Page up'], ['pgdn', 'pagedown', 'Page down'], ['home', 'home', 'Home'], ['end', 'end', 'End'],
  ['|', '|'], ['/', '/'], ['-', '-'], ['~', '~'],
]

/** Keys that a phone's keyboard does not have. Shown on touch screens only. */
export function KeyRow({ view, session }: { view: TerminalView; session: string }) {
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  const row = useRef<HTMLDivElement>(null)
  const [more, setMore] = useState('')
  const measure = () => {
    if (!row.current) return // what left the page has a last change of its size
    const { scrollLeft, clientWidth, scrollWidth } = row.current
    setMore([scrollLeft > 2 && 'before', scrollLeft + clientWidth < scrollWidth - 2 && 'after'].filter(Boolean).join(' '))
  }
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    observer.observe(row.current!)
    return () => observer.disconnect()
  }, [])
  const hold = (which: 'ctrl' | 'alt') => {
    view.held = { ...view.held, [which]: !view.held[which] }
    redraw(undefined as never)
  }
  const [first, rest] = [keys.slice(0, 2), keys.slice(2)]
  const key = ([label, is, name]: (typeof keys)[number]) => <button key={label} aria-label={name} onClick={() => view.press(is)}>{label}</button>
  // A pointer that goes down on a key must not take the focus, or the keyboard folds away.
  return (
    <div class="keys" data-more={more} onPointerDown={(e) => e.preventDefault()}>
      <button class="compose" aria-label="Write a message" aria-pressed={isComposing(session)} onClick={() => compose(session)}><Pen /></button>
      <div class="key-list" role="toolbar" aria-label="Keys" ref={row} onScroll={measure}>
        {first.map(key)}
        <button aria-label="Control" aria-pressed={view.held.ctrl} onClick={() => hold('ctrl')}>ctrl</button>
        <button aria-label="Alt" aria-pressed={view.held.alt} onClick={() => hold('alt')}>alt</button>
        {rest.map(key)}
      </div>
    </div>
  )
}
