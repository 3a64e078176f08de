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
import type { Size } from '../api'
import { isDark, onPrefs, prefs } from '../prefs'
import { toast } from '../store'
import { registerFileLinks } from './file-links'
import { Link } from './link'
import type { Hello, LinkOwner, Phase, TerminalEvent } from './link'
import { ScreenTitles } from './titles'
import { ReplayGuard } from './replay'
import { dark, light } from './theme'

const fontFamily =
  'ui-monospace, "SF Mono", "JetBrains Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace'
const scrollbackLines = 10_000
const maxWanted = 64 * 1024 // characters that a question keeps
const resetTerminal = new Uint8Array([0x1b, 0x63]) // RIS

export class TerminalView implements LinkOwner {
  readonly element = document.createElement('div')
  readonly terminal: Terminal
  readonly search = new SearchAddon()
  readonly link: Link
  /** Told of each change of phase, title, progress or of what was skipped. */
  onChange: () => void = () => {}
  /** Told of the title that the program chose. */
  onTitle: (title: string) => void = () => {}
  /** Percent done as the program reports it (OSC 9;4), or undefined. */
  progress?: number
  /** True for a moment after output was skipped because it came too fast. */
  lagging = false
  /** What the program wants our clipboard to be, where the session has us asked. */
  wanted?: string
  /** Set by the key row: the next character is typed with Ctrl held. */
  stickyCtrl = false

  private readonly guard: ReplayGuard
  private readonly fit = new FitAddon()
  private readonly observer = new ResizeObserver(() => this.scheduleFit())
  private readonly encoder = new TextEncoder()
  private readonly forgetPrefs: () => void
  private webgl?: WebglAddon
  private shown = false
  private fitFrame = 0
  private lagTimer?: number
  private head = 0 // bytes before it are a replay
  private era = 0 // counts hellos and snapshots: drawn offsets of an earlier one mean nothing
  private resetFirst = false
  private titles = new ScreenTitles()
  private clipboard: Hello['clipboard'] = 'deny'

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
    this.terminal.onBinary((data) => this.link.sendInput(Uint8Array.from(data, (c) => c.charCodeAt(0))))
    this.terminal.onTitleChange((title) => this.onTitle(title))
    this.terminal.attachCustomKeyEventHandler((event) => this.onKey(event))
    this.element.addEventListener('mouseup', () => this.copyOnSelect())
    this.forgetPrefs = onPrefs(() => this.applyPrefs())
  }

  /** Draws in parent and joins, or comes back from the offset that it has. */
  show(parent: HTMLElement): void {
    this.shown = true
    parent.append(this.element)
    if (!this.terminal.element) this.terminal.open(this.element)
    this.loadWebgl()
    this.observer.observe(this.element)
    this.fitNow()
    this.terminal.refresh(0, this.terminal.rows - 1)
    if (this.link.phase.is !== 'exited') this.link.connect()
  }

  /** Leaves the page and the session; screen and offset stay. */
  hide(): void {
    this.shown = false
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
    this.terminal.dispose()
  }

  focus(): void {
    this.terminal.focus()
  }

  /** Types text as if by keys; used by the key row. */
  type(text: string): void {
    this.terminal.input(text)
    this.focus()
  }

  size(): Size {
    return { cols: this.terminal.cols, rows: this.terminal.rows }
  }

  onHello(hello: Hello, resumed: boolean): void {
    this.era++
    this.head = hello.head
    this.resetFirst = !resumed
    this.clipboard = hello.clipboard
    this.guard.hosted = hello.host_answers ?? false
    this.titles = new ScreenTitles()
    if (this.link.watching) this.adopt(hello.size)
    const past = hello.offset < hello.head
    this.terminal.write('', () => void (this.guard.active = past))
  }

  /** session -> screen. Bytes below head are of the past: nothing in them is answered. */
  onOutput(bytes: Uint8Array, offset: number): void {
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
    this.terminal.options.disableStdin = phase.is !== 'attached'
    this.terminal.options.cursorBlink = phase.is === 'attached'
    this.terminal.options.cursorInactiveStyle = phase.is === 'exited' ? 'none' : 'outline'
    if (phase.is === 'exited') this.terminal.blur()
    if (phase.is === 'watching') this.wanted = undefined
    if (phase.is === 'attached') {
      this.fitNow()
      this.link.sendResize(this.size())
    }
    this.onChange()
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
    if (this.stickyCtrl && data.length === 1) {
      this.stickyCtrl = false
      this.onChange()
      data = withCtrl(data)
    }
    this.link.sendInput(this.encoder.encode(data))
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
    if (!this.shown || this.link.watching) return
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
    const typing = this.shown && document.hasFocus() && this.element.contains(document.activeElement)
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

function withCtrl(character: string): string {
  const code = character.toUpperCase().charCodeAt(0)
  return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code & 0x1f) : character
}

/** Keys of the page, chosen so that no program in a terminal misses them. */
export function isAppKey(event: KeyboardEvent): boolean {
  const chord = event.ctrlKey && event.shiftKey && !event.altKey
  if (chord && ['KeyF', 'KeyK', 'BracketLeft', 'BracketRight'].includes(event.code)) return true
  return event.metaKey && !event.ctrlKey && event.code === 'KeyK'
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
