// Fingers on a terminal: xterm.js 6.0.0 does not scroll by touch (its issue
// 5489). One finger scrolls, with momentum; two change the size of the text; a
// finger that stays selects, from the word under it. A tap remains the browser's:
// it focuses the terminal and clicks.

import type { Terminal } from '@xterm/xterm'

const moved = 8 // pixels, from which on a tap is none
const longPress = 450 // milliseconds
const friction = 0.0022 // of the speed, per millisecond
const slowest = 0.03 // pixels a millisecond, below which momentum ends
const recent = 100 // milliseconds that count for the speed

export interface TouchOwner {
  terminal: Terminal
  /** The size of the text as two fingers have it; done when they are gone. */
  onZoom(fontSize: number, done: boolean): void
  /** A finger has selected something, or a tap ended that. */
  onSelected(selected: boolean): void
}

interface Cell {
  col: number
  row: number // of the buffer
}

export class Touch {
  private mode: 'none' | 'tap' | 'scroll' | 'select' | 'zoom' = 'none'
  private startX = 0
  private startY = 0
  private lastY = 0
  private rest = 0 // pixels that were moved and are no whole line yet
  private samples: { time: number; y: number }[] = []
  private frame = 0
  private pressTimer?: number
  private anchor?: { from: Cell; to: Cell }
  private spread = 0
  private fontSize = 0

  constructor(private readonly element: HTMLElement, private readonly owner: TouchOwner) {
    // Before xterm.js, which cancels some of them.
    const listen = (type: string, take: (event: TouchEvent) => void) =>
      element.addEventListener(type, take as EventListener, { capture: true, passive: false })
    listen('touchstart', (event) => this.onStart(event))
    listen('touchmove', (event) => this.onMove(event))
    listen('touchend', (event) => this.onEnd(event))
    listen('touchcancel', (event) => this.onEnd(event))
  }

  dispose(): void {
    cancelAnimationFrame(this.frame)
    window.clearTimeout(this.pressTimer)
  }

  private onStart(event: TouchEvent): void {
    const rolling = this.frame !== 0
    cancelAnimationFrame(this.frame)
    this.frame = 0
    window.clearTimeout(this.pressTimer)
    if (event.touches.length === 2) return this.startZoom(event)
    if (event.touches.length !== 1) return
    const finger = event.touches[0]
    this.mode = rolling ? 'scroll' : 'tap' // a finger that stops momentum is no tap
    this.startX = finger.clientX
    this.startY = this.lastY = finger.clientY
    this.rest = 0
    this.samples = [{ time: event.timeStamp, y: finger.clientY }]
    this.pressTimer = window.setTimeout(() => this.startSelect(), longPress)
  }

  private onMove(event: TouchEvent): void {
    if (this.mode === 'none') return
    event.preventDefault()
    if (this.mode === 'zoom') return this.zoom(event)
    const finger = event.touches[0]
    const strayed = Math.hypot(finger.clientX - this.startX, finger.clientY - this.startY) >= moved
    if (this.mode === 'select' && (event.timeStamp - this.samples[0].time >= longPress || !strayed)) return this.extend(finger)
    if (this.mode === 'select') this.clear() // it moved in time, and the page was slow to hear of it
    if (this.mode === 'tap' && !strayed) return
    window.clearTimeout(this.pressTimer)
    this.mode = 'scroll'
    this.samples = [...this.samples.filter((s) => event.timeStamp - s.time < recent), { time: event.timeStamp, y: finger.clientY }]
    this.scroll(this.lastY - finger.clientY)
    this.lastY = finger.clientY
  }

  private onEnd(event: TouchEvent): void {
    window.clearTimeout(this.pressTimer)
    const mode = this.mode
    if (mode === 'tap') this.clear()
    else event.preventDefault() // no click follows
    if (mode === 'zoom') this.owner.onZoom(this.fontSize, true)
    if (mode === 'scroll' && event.type === 'touchend') this.roll(event.timeStamp)
    if (mode === 'select') this.owner.onSelected(this.owner.terminal.hasSelection())
    this.mode = 'none'
  }

  private clear(): void {
    this.owner.terminal.clearSelection()
    this.owner.onSelected(false)
  }

  /** Goes on at the speed that the finger had. */
  private roll(now: number): void {
    const first = this.samples.find((s) => now - s.time < recent)
    const last = this.samples.at(-1)
    if (!first || !last || last.time <= first.time || now - last.time > recent / 2) return
    let speed = (first.y - last.y) / (last.time - first.time)
    let then = performance.now()
    const step = (time: number) => {
      const passed = Math.min(Math.max(time - then, 0), 50)
      then = time
      speed *= Math.exp(-friction * passed)
      this.frame = 0
      if (Math.abs(speed) < slowest || !this.scroll(speed * passed)) return
      this.frame = requestAnimationFrame(step)
    }
    this.frame = requestAnimationFrame(step)
  }

  /** Scrolls by pixels; false at an end. */
  private scroll(pixels: number): boolean {
    this.rest += pixels
    const lines = Math.trunc(this.rest / this.cellHeight())
    if (lines === 0) return true
    this.rest -= lines * this.cellHeight()
    const { terminal } = this.owner
    if (terminal.buffer.active.type === 'normal' && terminal.modes.mouseTrackingMode === 'none') {
      const { viewportY, baseY } = terminal.buffer.active
      terminal.scrollLines(lines) // which it may do with the next frame
      return lines < 0 ? viewportY > 0 : viewportY < baseY
    }
    this.wheel(lines)
    return true
  }

  /** A full-screen program gets what a wheel would give it. */
  private wheel(lines: number): void {
    const screen = this.element.querySelector('.xterm-screen')
    for (let i = 0; i < Math.abs(lines); i++) {
      screen?.dispatchEvent(new WheelEvent('wheel', {
        deltaY: Math.sign(lines), deltaMode: WheelEvent.DOM_DELTA_LINE, clientX: this.startX, clientY: this.startY,
        bubbles: true, cancelable: true,
      }))
    }
  }

  private cellHeight(): number {
    const screen = this.element.querySelector('.xterm-screen')
    return Math.max((screen?.clientHeight ?? 0) / this.owner.terminal.rows, 4)
  }

  private cellAt(x: number, y: number): Cell {
    const { terminal } = this.owner
    const box = this.element.querySelector('.xterm-screen')!.getBoundingClientRect()
    const at = (part: number, size: number, cells: number) => Math.min(Math.max(Math.floor((part / size) * cells), 0), cells - 1)
    return {
      col: at(x - box.left, box.width, terminal.cols),
      row: at(y - box.top, box.height, terminal.rows) + terminal.buffer.active.viewportY,
    }
  }

  private startSelect(): void {
    const word = this.wordAt(this.cellAt(this.startX, this.startY))
    this.mode = 'select'
    this.anchor = word
    this.select(word.from, word.to)
    navigator.vibrate?.(10)
  }

  private extend(finger: globalThis.Touch): void {
    const { from, to } = this.anchor!
    const cell = this.cellAt(finger.clientX, finger.clientY)
    if (before(cell, from)) this.select(cell, to)
    else this.select(from, before(cell, to) ? to : cell)
  }

  private select(from: Cell, to: Cell): void {
    const { terminal } = this.owner
    terminal.select(from.col, from.row, (to.row - from.row) * terminal.cols + to.col - from.col + 1)
  }

  private wordAt(cell: Cell): { from: Cell; to: Cell } {
    const line = this.owner.terminal.buffer.active.getLine(cell.row)
    const isWord = (col: number) => /\S/.test(line?.getCell(col)?.getChars() ?? '')
    let [from, to] = [cell.col, cell.col]
    while (isWord(cell.col) && from > 0 && isWord(from - 1)) from--
    while (isWord(cell.col) && to < this.owner.terminal.cols - 1 && isWord(to + 1)) to++
    return { from: { col: from, row: cell.row }, to: { col: to, row: cell.row } }
  }

  private startZoom(event: TouchEvent): void {
    this.mode = 'zoom'
    this.spread = spreadOf(event)
    this.fontSize = this.owner.terminal.options.fontSize!
  }

  private zoom(event: TouchEvent): void {
    if (event.touches.length !== 2 || this.spread === 0) return
    const size = Math.round(Math.min(Math.max((this.fontSize * spreadOf(event)) / this.spread, 8), 28))
    if (size === this.fontSize) return
    this.spread *= size / this.fontSize
    this.fontSize = size
    this.owner.onZoom(size, false)
  }
}

const before = (a: Cell, b: Cell) => a.row < b.row || (a.row === b.row && a.col < b.col)

const spreadOf = ({ touches: [a, b] }: TouchEvent) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY)
