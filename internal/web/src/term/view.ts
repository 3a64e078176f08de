// One session on one xterm.js. It lives outside of the component tree: hidden
// views keep their screen and their offset and give up only the connection,
// so coming back draws at once and continues where it was.

import { ClipboardAddon } from '@xterm/addon-clipboard'
import { FitAddon } from '@xterm/addon-fit'
import { ProgressAddon } from '@xterm/addon-progress'
import { SearchAddon } from '@xterm/addon-search'
import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes'
import { WebLinksAddon } from '@xterm/addon-web-links'
import { WebglAddon } from '@xterm/addon-webgl'
import { Terminal } from '@xterm/xterm'
import type { Exit, Size } from '../api'
import { isDark, onPrefs, prefs, setPrefs } from '../prefs'
import { toast } from '../store'
import { onHidden } from '../visibility'
import { registerFileLinks } from './file-links'
import { bytesOf, keysIn, withHeld } from './keys'
import type { Held } from './keys'
import { Link } from './link'
import type { Hello, LinkOwner, Phase, TerminalEvent } from './link'
import { ScreenTitles } from './titles'
import { ReplayGuard } from './replay'
import { dark, light } from './theme'
import { Touch } from './touch'
import type { TouchOwner } from './touch'

const fontFamily =
  'ui-monospace, "SF Mono", "JetBrains Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace'
const scrollbackLines = 10_000
const mostLines = 100_000 // of the past that are loaded on scrolling up
const restAfter = 60_000 // a page that nobody looks at
const maxWanted = 64 * 1024 // characters that a question keeps
const resetTerminal = new Uint8Array([0x1b, 0x63]) // RIS

export class TerminalView implements LinkOwner, TouchOwner {
  readonly element = document.createElement('div')
  readonly terminal: Terminal
  readonly search = new SearchAddon()
  readonly link: Link
  /** Told of each change of phase, title, progress or of what was skipped. */
  private onChange: () => void = () => {}
  /** Told of the title that the program chose. */
  onTitle: (title: string) => void = () => {}
  onExit: (exit: Exit) => void = () => {}
  /** Percent done as the program reports it (OSC 9;4), or undefined. */
  progress?: number
  /** True for a moment after output was skipped because it came too fast. */
  lagging = false
  /** What the program wants our clipboard to be, where the session has us asked. */
  wanted?: string
  /** Set by the key row: the next key is typed with these held. */
  held: Held = { ctrl: false, alt: false }
  /** Whether a finger has selected something. */
  selected = false

  private readonly guard: ReplayGuard
  private readonly fit = new FitAddon()
  private readonly observer = new ResizeObserver(() => this.scheduleFit())
  private readonly encoder = new TextEncoder()
  private readonly forgetPrefs: () => void
  private endRest = () => {}
  private webgl?: WebglAddon
  private shownIn?: HTMLElement
  private fitFrame = 0
  private lagTimer?: number
  private head = 0 // bytes before it are a replay
  private era = 0 // counts hellos and snapshots: drawn offsets of an earlier one mean nothing
  private resetFirst = false
  private awaitsDrawing = false // of a size that must not change before it is drawn
  private titles = new ScreenTitles()
  private clipboard: Hello['clipboard'] = 'deny'
  private readonly touch = new Touch(this.element, this)
  private fromEnd?: number // where the screen was, in lines from its end, when older ones were asked for
  private olderLoaded = false

  constructor(readonly session: string) {
    this.element.className = 'terminal-host'
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: true,
      drawBoldTextInBrightColors: false,
      fontFamily,
      lineHeight: 1.15,
      linkHandler: { activate: (_, uri) => openLink(uri), hover: (_, uri) => this.hint(uri), leave: () => this.hint('') },
      macOptionIsMeta: true,
      rightClickSelectsWord: true,
      scrollback: scrollbackLines,
      ...chosen(),
    })
    Object.assign(this.element, { terminal: this.terminal }) // a handle for the browser's console and for tests
    this.loadAddons()
    this.guard = new ReplayGuard(this.terminal)
    this.refuseClipboardReading()
    this.link = new Link(session, this)
    this.terminal.onData((data) => this.onData(data))
    this.terminal.onBinary((data) => this.link.sendInput(Uint8Array.from(data, (c) => c.charCodeAt(0)), keysIn(data)))
    this.terminal.onScroll(() => this.loadOlder())
    this.terminal.onTitleChange((title) => this.onTitle(title))
    this.terminal.attachCustomKeyEventHandler((event) => this.onKey(event))
    this.element.addEventListener('mouseup', () => this.copyOnSelect())
    this.forgetPrefs = onPrefs(() => this.applyPrefs())
  }

  /**
   * Draws in parent and joins, or comes back from the offset that it has; onChange is
   * called when what is said about it changes. What it returns ends that: it leaves the
   * page and the session; screen and offset stay. Where it is drawn elsewhere by then,
   * that does nothing: a place on the page may be cleared away after the next one is shown.
   */
  show(parent: HTMLElement, onChange: () => void): () => void {
    if (this.shownIn) this.hide()
    this.shownIn = parent
    this.onChange = onChange
    parent.append(this.element)
    if (!this.terminal.element) this.terminal.open(this.element)
    this.loadWebgl()
    this.observer.observe(this.element)
    this.fitNow()
    this.terminal.refresh(0, this.terminal.rows - 1)
    if (this.link.phase.is !== 'exited') this.link.connect()
    this.endRest = onHidden(restAfter, () => this.link.rest(), () => this.link.retryNow())
    return () => {
      if (this.shownIn === parent) this.hide()
    }
  }

  private hide(): void {
    this.shownIn = undefined
    this.onChange = () => {}
    this.endRest()
    this.observer.disconnect()
    this.webgl?.dispose() // browsers have few contexts
    this.webgl = undefined
    this.element.remove()
    this.link.detach()
  }

  dispose(): void {
    this.hide()
    window.clearTimeout(this.lagTimer)
    this.forgetPrefs()
    this.guard.dispose()
    this.touch.dispose()
    this.terminal.dispose()
  }

  focus(): void {
    this.terminal.focus()
  }

  /** Presses a key of the key row; the focus stays where it is, and with it a phone's keyboard. */
  press(key: string): void {
    const bytes = bytesOf(key, this.release(), this.terminal.modes.applicationCursorKeysMode)
    this.terminal.input(bytes)
  }

  /** What was held, which is held no more. */
  private release(): Held {
    const held = this.held
    this.held = { ctrl: false, alt: false }
    this.onChange()
    return held
  }

  /** The offset that the screen shows. */
  seen(): number {
    return this.link.seen
  }

  onZoom(fontSize: number, done: boolean): void {
    this.terminal.options.fontSize = fontSize
    if (done) setPrefs({ fontSize })
    else this.scheduleFit()
  }

  onSelected(selected: boolean): void {
    this.selected = selected
    this.onChange()
  }

  size(): Size {
    return { cols: this.terminal.cols, rows: this.terminal.rows }
  }

  onHello(hello: Hello, resumed: boolean): void {
    this.era++
    this.head = hello.head
    this.resetFirst = this.awaitsDrawing = !resumed
    this.clipboard = hello.clipboard
    this.guard.hosted = hello.host_answers ?? false
    this.titles = new ScreenTitles()
    if (this.link.watching) this.adopt(hello.size)
    const past = hello.offset < hello.head
    this.terminal.write('', () => void (this.guard.active = past))
  }

  /** session -> screen. Bytes below head are of the past: nothing in them is answered. */
  onOutput(bytes: Uint8Array, offset: number): void {
    if (this.awaitsDrawing) this.drawn()
    const past = Math.min(Math.max(this.head - offset, 0), bytes.length)
    if (past > 0) {
      this.draw(bytes.subarray(0, past), offset)
      if (offset + past === this.head) this.terminal.write('', () => void (this.guard.active = false))
    }
    if (past < bytes.length) this.draw(bytes.subarray(past), offset + past)
  }

  /** A drawing of the screen as of offset, in one go: the old picture stays until the new one is there. */
  onSnapshot(bytes: Uint8Array, offset: number, skipped: boolean): void {
    if (skipped) this.sayLagging()
    const era = ++this.era
    this.resetFirst = false
    this.terminal.write('', () => void (this.guard.active = true))
    this.terminal.write(concat(resetTerminal, bytes), () => {
      this.guard.active = offset < this.head
      this.backToPlace()
      this.drawn()
      if (era === this.era) this.link.ack(offset)
    })
  }

  onEvent(event: TerminalEvent): void {
    if (event.kind === 'title' && event.text !== undefined) this.onTitle(event.text)
    if (event.kind === 'size' && event.size && this.link.watching) {
      const size = event.size
      this.terminal.write('', () => this.adopt(size))
    }
  }

  onPhase(phase: Phase): void {
    this.terminal.options.disableStdin = !this.link.takesKeys
    this.terminal.options.cursorBlink = phase.is === 'attached'
    this.terminal.options.cursorInactiveStyle = phase.is === 'exited' ? 'none' : 'outline'
    if (!['connecting', 'attached', 'watching'].includes(phase.is)) this.element.classList.remove('loading')
    if (phase.is === 'exited') {
      this.terminal.blur()
      this.onExit(phase.exit)
    }
    if (phase.is === 'connecting' || phase.is === 'disconnected') this.awaitsDrawing = false
    if (phase.is === 'watching') this.wanted = undefined
    if (phase.is === 'attached') {
      this.fitNow()
      this.link.sendResize(this.size())
    }
    this.onChange()
  }

  onMissed(): void {
    this.onChange()
  }

  private drawn(): void {
    this.awaitsDrawing = false
    this.scheduleFit()
  }

  /** At the first line, asks once for the lines before it, as far as the session keeps them. */
  private loadOlder(): void {
    const { active } = this.terminal.buffer
    const phase = this.link.phase.is
    if (active.viewportY > 0 || active.baseY === 0 || active.type !== 'normal' || this.olderLoaded) return
    if (phase !== 'attached' && phase !== 'watching') return
    this.olderLoaded = true
    this.fromEnd = active.baseY
    this.terminal.options.scrollback = mostLines
    this.element.classList.add('loading')
    this.link.connect({ lines: mostLines, takeover: phase === 'attached' })
  }

  /** After older lines were drawn: shows again what was shown before. */
  private backToPlace(): void {
    if (this.fromEnd === undefined) return
    this.terminal.scrollToLine(Math.max(this.terminal.buffer.active.baseY - this.fromEnd, 0))
    this.fromEnd = undefined
    this.element.classList.remove('loading')
  }

  private draw(bytes: Uint8Array, offset: number): void {
    const era = this.era
    const end = offset + bytes.length
    const drawn = this.guard.hosted ? this.titles.translate(bytes) : bytes
    const data = this.resetFirst ? concat(resetTerminal, drawn) : drawn
    this.resetFirst = false
    this.terminal.write(data, () => {
      if (era === this.era) this.link.ack(end)
    })
  }

  private onData(data: string): void {
    if (this.guard.refuses(data)) return
    if ((this.held.ctrl || this.held.alt) && data.length === 1) data = withHeld(data, this.release())
    if (data === '\x1b' && this.answersEsc()) return this.link.goOn()
    this.link.sendInput(this.encoder.encode(data), keysIn(data))
  }

  private answersEsc(): boolean {
    return this.link.phase.is === 'attached' && this.link.holds && this.link.delivery.takesEsc
  }

  /** Returns whether xterm.js shall take the key. */
  private onKey(event: KeyboardEvent): boolean {
    if (event.ctrlKey && event.shiftKey && event.code === 'KeyC' && this.terminal.hasSelection()) {
      if (event.type === 'keydown') void copy(this.terminal.getSelection())
      event.preventDefault()
      return false
    }
    if (event.ctrlKey && event.shiftKey && event.code === 'KeyV') return false // the browser pastes
    return !event.defaultPrevented && !isAppKey(event)
  }

  private copyOnSelect(): void {
    if (prefs.copyOnSelect && this.terminal.hasSelection()) void copy(this.terminal.getSelection())
  }

  /** A watcher's screen is the session's size, whatever the window's. */
  private adopt(size: Size): void {
    this.terminal.resize(size.cols, size.rows)
  }

  private scheduleFit(): void {
    cancelAnimationFrame(this.fitFrame)
    this.fitFrame = requestAnimationFrame(() => this.fitNow())
  }

  private fitNow(): void {
    if (!this.shownIn || this.link.watching || this.awaitsDrawing) return
    const to = this.fit.proposeDimensions()
    if (!to || !Number.isFinite(to.cols) || !Number.isFinite(to.rows)) return
    const size = { cols: Math.max(to.cols, 2), rows: Math.max(to.rows, 1) }
    if (size.cols === this.terminal.cols && size.rows === this.terminal.rows) return
    this.terminal.resize(size.cols, size.rows)
    this.link.sendResize(size)
  }

  private loadAddons(): void {
    this.terminal.loadAddon(this.fit)
    this.terminal.loadAddon(this.search)
    this.terminal.loadAddon(new UnicodeGraphemesAddon())
    this.terminal.loadAddon(new WebLinksAddon((_, uri) => openLink(uri)))
    this.terminal.loadAddon(new ClipboardAddon(undefined, {
      readText: () => '',
      writeText: (_, text) => this.writeClipboard(text),
    }))
    registerFileLinks(this.terminal, this.session)
    const progress = new ProgressAddon()
    this.terminal.loadAddon(progress)
    progress.onChange(({ state, value }) => {
      this.progress = state === 1 || state === 4 ? value : undefined
      this.onChange()
    })
  }

  /** OSC 52: a program may set the clipboard of whoever types at it, as far as the session's policy allows, and never read it. */
  private async writeClipboard(text: string): Promise<void> {
    if (this.link.phase.is !== 'attached' || this.guard.active) return
    if (this.clipboard === 'ask') return this.ask(text)
    const typing = this.shownIn && document.hasFocus() && this.element.contains(document.activeElement)
    if (typing && this.clipboard === 'allow') await copy(text)
  }

  /** The last text counts. */
  private ask(text: string): void {
    if (text === '' || text.length > maxWanted) return
    this.wanted = text
    this.onChange()
  }

  /** Answers what was asked: text is what the card showed, which the program may have changed since, or nothing where it is refused. */
  async answer(text?: string): Promise<void> {
    this.wanted = undefined
    this.focus()
    this.onChange()
    if (text !== undefined && !(await copy(text))) toast('error', 'The browser did not allow this page to set the clipboard.')
  }

  private refuseClipboardReading(): void {
    this.terminal.parser.registerOscHandler(52, (data) => this.guard.active || data.endsWith(';?'))
  }

  private loadWebgl(): void {
    if (this.webgl) return
    try {
      const webgl = new WebglAddon()
      webgl.onContextLoss(() => {
        webgl.dispose() // xterm.js goes on with its DOM renderer
        this.webgl = undefined
      })
      this.terminal.loadAddon(webgl)
      this.webgl = webgl
    } catch {
      this.webgl = undefined // no WebGL 2 here: the DOM renderer draws
    }
  }

  private applyPrefs(): void {
    Object.assign(this.terminal.options, chosen())
    this.scheduleFit()
  }

  private sayLagging(): void {
    this.lagging = true
    this.onChange()
    window.clearTimeout(this.lagTimer)
    this.lagTimer = window.setTimeout(() => {
      this.lagging = false
      this.onChange()
    }, 4000)
  }

  private hint(text: string): void {
    this.element.title = text
  }
}

/** The options that follow the user's preferences. */
function chosen() {
  const colours = isDark() ? { theme: dark, minimumContrastRatio: 1 } : { theme: light, minimumContrastRatio: 4.5 }
  return { fontSize: prefs.fontSize, screenReaderMode: prefs.screenReader, ...colours }
}

function openLink(uri: string): void {
  if (/^https?:\/\//i.test(uri)) window.open(uri, '_blank', 'noopener,noreferrer')
}

/** Writes to the clipboard, where the browser lets us. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false // no focus or no permission; the selection is still there to copy by hand
  }
}

/** Keys of the page, chosen so that no program in a terminal misses them. */
export function isAppKey(event: KeyboardEvent): boolean {
  const chord = event.ctrlKey && event.shiftKey && !event.altKey
  if (chord && ['KeyE', 'KeyF', 'KeyK', 'KeyO', 'BracketLeft', 'BracketRight'].includes(event.code)) return true
  return event.metaKey && !event.ctrlKey && event.code === 'KeyK'
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
