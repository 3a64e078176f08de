import { useReducer } from 'preact/hooks'
import type { TerminalView } from '../term/view'

const arrows = { '←': 'D', '↓': 'B', '↑': 'A', '→': 'C' }

/** Keys that a phone's keyboard does not have. Shown on touch screens only. */
export function KeyRow({ view }: { view: TerminalView }) {
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  const arrow = (final: string) => view.type((view.terminal.modes.applicationCursorKeysMode ? '\x1bO' : '\x1b[') + final)
  const hold = () => {
    view.stickyCtrl = !view.stickyCtrl
    redraw(undefined as never)
    view.focus()
  }
  // A pointer that goes down on a key must not take the focus, or the keyboard folds away.
  return (
    <div class="keys" role="toolbar" aria-label="Keys" onPointerDown={(e) => e.preventDefault()}>
      <button onClick={() => view.type('\x1b')}>esc</button>
      <button onClick={() => view.type('\t')}>tab</button>
      <button aria-pressed={view.stickyCtrl} onClick={hold}>ctrl</button>
      {Object.entries(arrows).map(([label, final]) => <button key={label} aria-label={`Arrow ${label}`} onClick={() => arrow(final)}>{label}</button>)}
      {['|', '/', '-', '~'].map((text) => <button key={text} onClick={() => view.type(text)}>{text}</button>)}
      <button onClick={() => view.type('\x03')}>^C</button>
    </div>
  )
}
