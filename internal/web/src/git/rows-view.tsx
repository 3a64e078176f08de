import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks'

interface Props<R> {
  rows: R[]
  keyOf: (row: R) => string
  /** How high a row probably is; it is measured once it is drawn. */
  guess: (row: R, width: number) => number
  draw: (row: R) => ComponentChildren
  /** Told of the first row that is on the screen. */
  onTop?: (index: number) => void
  control: { current: RowsControl | null }
  label: string
}

export interface RowsControl {
  show: (index: number) => void
}

const ahead = 600 // pixels that are drawn above and below of what is seen

/** A long list of which only the rows on the screen are drawn. */
export function Rows<R>({ rows, keyOf, guess, draw, onTop, control, label }: Props<R>) {
  const box = useRef<HTMLDivElement>(null)
  const drawn = useRef<HTMLDivElement>(null)
  const heights = useRef(new Map<string, number>())
  const width = useRef(0)
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  const again = () => redraw(undefined as never)

  // Where each row begins; made anew for other rows, or where a guess was wrong.
  const known = useRef<{ rows: R[]; tops: Float64Array }>(null)
  if (known.current?.rows !== rows) {
    const tops = new Float64Array(rows.length + 1)
    rows.forEach((row, i) => { tops[i + 1] = tops[i] + (heights.current.get(keyOf(row)) ?? guess(row, width.current)) })
    known.current = { rows, tops }
  }
  const { tops } = known.current
  const at = box.current?.scrollTop ?? 0
  const first = indexAt(tops, at - ahead)
  const last = Math.min(indexAt(tops, at + (box.current?.clientHeight ?? 800) + ahead) + 1, rows.length)

  // Guesses become heights. What is above of the screen must not push it.
  useLayoutEffect(() => {
    let moved = 0
    let shift = 0
    const children = drawn.current!.children
    for (let i = first; i < last; i++) {
      const height = (children[i - first] as HTMLElement | undefined)?.offsetHeight
      const above = tops[i + 1] <= at
      const was = tops[i + 1] - (tops[i] - shift)
      tops[i + 1] += shift
      if (!height || Math.abs(was - height) < 0.5) continue
      heights.current.set(keyOf(rows[i]), height)
      shift += height - was
      tops[i + 1] += height - was
      if (above) moved += height - was
    }
    if (!shift) return
    for (let i = last + 1; i < tops.length; i++) tops[i] += shift
    if (moved) box.current!.scrollTop += moved
    again()
  })

  // Before anybody can ask for a row: a guess needs the width.
  useLayoutEffect(() => {
    const fit = () => {
      if (box.current!.clientWidth !== width.current) {
        width.current = box.current!.clientWidth
        heights.current.clear()
        known.current = null
      }
      again()
    }
    fit()
    const observer = new ResizeObserver(fit)
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])

  const top = indexAt(tops, at + 1)
  useEffect(() => onTop?.(top), [top, rows])

  control.current = {
    show: (index) => {
      box.current!.scrollTop = tops[index]
      again()
    },
  }
  return (
    <div class="rows" ref={box} tabIndex={0} role="region" aria-label={label} onScroll={again}>
      <div style={{ height: `${tops[rows.length]}px` }}>
        <div ref={drawn} style={{ transform: `translateY(${tops[first]}px)` }}>
          {rows.slice(first, last).map((row) => <div key={keyOf(row)}>{draw(row)}</div>)}
        </div>
      </div>
    </div>
  )
}

/** The row at a height, by halving. */
function indexAt(tops: Float64Array, y: number): number {
  let low = 0, high = tops.length - 2
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (tops[middle] <= y) low = middle
    else high = middle - 1
  }
  return Math.max(low, 0)
}
