// One session's WebSocket. It joins, comes back after a cut from the offset
// that it has, and hands over bytes in order; it knows nothing of xterm.js.
//
// A keystroke passes sendInput here on its way to the program; what the
// program prints passes onOutput on its way to the screen.

import { API, Problem, newTicket } from '../api'
import { routed } from '../http'
import { doubt, used } from '../auth'
import type { Exit, Size, Writer } from '../api'
import { Delivery } from './delivery'

/** How this viewer stands to its session. None of these but "exited" says anything of the program. */
export type Phase =
  | { is: 'detached' }
  | { is: 'connecting' }
  | { is: 'attached' }
  | { is: 'watching'; writer?: Writer }
  /** From the server, or where unanswered is set the server from the session. */
  | { is: 'disconnected'; unanswered: boolean }
  | { is: 'busy'; writer?: Writer }
  | { is: 'displaced'; writer?: Writer; reason: string }
  | { is: 'refused'; code: string; message: string }
  | { is: 'exited'; exit: Exit }

export interface Hello {
  offset: number
  head: number
  size: Size
  title?: string
  writer?: Writer
  /** Whether the program may set our clipboard. */
  clipboard: 'allow' | 'ask' | 'deny'
  /** The program's questions are answered where it runs, and it prints for a terminal of tmux's. */
  host_answers?: boolean
}

export interface TerminalEvent {
  kind: 'title' | 'progress' | 'bell' | 'notification' | 'directory' | 'writer' | 'size' | 'unseen'
  text?: string
  size?: Size
  writer?: Writer
}

type ServerMessage =
  | ({ type: 'hello' } & Hello)
  | { type: 'snapshot'; offset: number }
  | ({ type: 'event' } & TerminalEvent)
  | { type: 'detached'; reason: string; writer?: Writer }
  | { type: 'error'; code: string; message: string; writer?: Writer }
  | ({ type: 'exit' } & Exit)
  | { type: 'pong' }

export interface LinkOwner {
  size(): Size
  /** The session as of hello; resumed says that the bytes go on where the last ones ended. */
  onHello(hello: Hello, resumed: boolean): void
  onOutput(bytes: Uint8Array, offset: number): void
  /** A drawing of the screen as of offset; skipped says that bytes before it were not handed over. */
  onSnapshot(bytes: Uint8Array, offset: number, skipped: boolean): void
  onEvent(event: TerminalEvent): void
  onPhase(phase: Phase): void
  /** How many keys did not get to the program has changed. */
  onMissed(): void
}

const chunkBytes = 64 * 1024 // of a paste, per message
const sendAhead = 1024 * 1024 // handed to the browser at most, the rest waits here
const ackEvery = 32 * 1024 // well under the 256 KiB that may run ahead
const pingEvery = 15_000
const silentAfter = 45_000
const restAgain = 500 // after something was still on its way
const backoffFirst = 200
const backoffMost = 8_000

/** Errors that say nothing of the session; to any other, trying again gets the same answer. */
const passing = new Set(['unreachable', 'internal'])

export class Link {
  phase: Phase = { is: 'detached' }
  readonly delivery = new Delivery()
  /** The offset after the last byte that the owner has, or undefined before the first. */
  private handed?: number
  /** The offset of the next byte to arrive, as the hello announced it. */
  private next = 0
  private acked = 0
  private drawn = 0
  private ackTimer?: number
  private socket?: WebSocket
  private attempt = 0
  private watch = false
  /** How many lines of the past a drawing of the screen has; the server's choice if unset. */
  private lines?: number
  private awaitsSnapshot?: number
  private failures = 0
  private retryTimer?: number
  private restTimer?: number
  private pulse?: number
  private lastHeard = 0
  private outgoing: Uint8Array[] = []
  private drainTimer?: number

  constructor(private readonly session: string, private readonly owner: LinkOwner) {}

  /**
   * Joins, or comes back from the offset that it has. With lines it has the
   * screen drawn anew, with as many lines of the past.
   */
  connect(how: { watch?: boolean; takeover?: boolean; lines?: number } = {}): void {
    this.drop()
    if (how.lines !== undefined) {
      this.lines = how.lines
      this.handed = undefined
    }
    if (how.watch !== undefined) this.watch = how.watch
    if (this.phase.is !== 'disconnected') this.setPhase({ is: 'connecting' })
    const attempt = ++this.attempt
    newTicket(this.session, this.watch ? 'watch' : 'attach').then(
      (ticket) => attempt === this.attempt && this.open(this.address(how.takeover ?? false), ticket),
      (error: unknown) => attempt === this.attempt && this.onNoTicket(error),
    )
  }

  /** The server echoes the first subprotocol alone; the ticket is spent with it. */
  private open(address: string, ticket: string): void {
    const socket = new WebSocket(address, ['middleman.v1', `ticket.${ticket}`])
    socket.binaryType = 'arraybuffer'
    socket.onmessage = (message) => this.onMessage(message.data as ArrayBuffer | string)
    socket.onclose = () => this.onClose()
    this.socket = socket
    this.lastHeard = Date.now()
    this.pulse = window.setInterval(() => this.checkPulse(), pingEvery)
  }

  private onNoTicket(error: unknown): void {
    if (error instanceof Problem && error.status === 404) {
      return this.setPhase({ is: 'refused', code: error.code, message: error.message })
    }
    this.scheduleRetry() // without a login too: a link may be used any moment
  }

  /** Whether this viewer joins as a watcher. */
  get watching(): boolean {
    return this.watch
  }

  /** This viewer never types, whatever it joins. */
  watchOnly(): void {
    this.watch = true
  }

  /** The offset that is drawn. */
  get seen(): number {
    return this.drawn
  }

  /** Leaves; the session does not notice. */
  detach(): void {
    this.drop({ left: true })
    if (this.phase.is !== 'exited') this.setPhase({ is: 'detached' })
  }

  /** Leaves while nobody looks, once all that was typed is sent. */
  rest(): void {
    window.clearTimeout(this.restTimer)
    if (!['connecting', 'attached', 'watching', 'disconnected'].includes(this.phase.is)) return
    const typed = this.outgoing.length > 0 || (this.socket?.bufferedAmount ?? 0) > 0
    if (typed) this.restTimer = window.setTimeout(() => this.rest(), restAgain)
    else this.detach()
  }

  /** Tries now what would be tried later, and ends a rest. */
  retryNow(): void {
    window.clearTimeout(this.restTimer)
    if (this.phase.is === 'disconnected' || this.phase.is === 'detached') this.connect()
  }

  /**
   * key -> WebSocket. What is typed while nobody is attached is never kept for
   * later: it is missing, and nothing that is typed after it is sent until
   * goOn. keys is how many keys bytes are, or undefined for what the terminal
   * reports by itself.
   */
  sendInput(bytes: Uint8Array, keys?: number): void {
    const open = this.phase.is === 'attached' && this.socket?.readyState === WebSocket.OPEN
    if (keys !== undefined && this.takesKeys && (!open || this.holds)) {
      this.delivery.miss(keys, bytes.length === 1 && bytes[0] === 0x1b)
      return this.owner.onMissed()
    }
    if (!open) return
    used()
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      this.outgoing.push(bytes.subarray(at, at + chunkBytes))
    }
    if (keys) this.delivery.sent(keys)
    this.drain()
    if (keys) this.ask()
  }

  /** Whether what is typed is for the program, now or as soon as the connection is back. */
  get takesKeys(): boolean {
    return !this.watch && ['connecting', 'attached', 'disconnected'].includes(this.phase.is)
  }

  /** Whether keys are missing: no more are sent until goOn. */
  get holds(): boolean {
    return this.takesKeys && this.delivery.incomplete
  }

  /** The user knows that keys are missing. */
  goOn(): void {
    this.delivery.goOn()
    this.owner.onMissed()
  }

  sendResize(size: Size): void {
    if (this.phase.is === 'attached') this.send({ type: 'resize', cols: size.cols, rows: size.rows })
  }

  /** Reports what is drawn: at once when much is, else soon. */
  ack(offset: number): void {
    this.drawn = offset
    if (this.drawn - this.acked >= ackEvery) return this.flushAck()
    this.ackTimer ??= window.setTimeout(() => this.flushAck(), 50)
  }

  private flushAck(): void {
    window.clearTimeout(this.ackTimer)
    this.ackTimer = undefined
    if (this.drawn <= this.acked || this.socket?.readyState !== WebSocket.OPEN) return
    this.acked = this.drawn
    this.send({ type: 'ack', offset: this.drawn })
  }

  private address(takeover: boolean): string {
    const size = this.owner.size()
    const query = new URLSearchParams({ mode: this.watch ? 'watch' : 'attach' })
    query.set('cols', String(size.cols))
    query.set('rows', String(size.rows))
    if (this.handed !== undefined) query.set('from', String(this.handed))
    if (this.lines !== undefined) query.set('scrollback', String(this.lines))
    if (takeover) query.set('takeover', '1')
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    return `${scheme}://${location.host}${API}${routed(`/sessions/${this.session}/terminal`)}?${query}`
  }

  private send(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message))
  }

  /** Asks whether the server has read all that was sent: it answers a ping after what came before it. */
  private ask(): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return
    if (this.delivery.ask(this.outgoing.length === 0)) this.send({ type: 'ping' })
  }

  private drain(): void {
    window.clearTimeout(this.drainTimer)
    const socket = this.socket
    if (socket?.readyState !== WebSocket.OPEN) return
    while (this.outgoing.length > 0 && socket.bufferedAmount < sendAhead) {
      socket.send(this.outgoing.shift() as Uint8Array<ArrayBuffer>)
    }
    // A WebSocket has no event for this.
    if (this.outgoing.length > 0) this.drainTimer = window.setTimeout(() => this.drain(), 20)
  }

  private onMessage(data: ArrayBuffer | string): void {
    this.lastHeard = Date.now()
    if (typeof data === 'string') return this.onText(JSON.parse(data) as ServerMessage)
    const bytes = new Uint8Array(data)
    if (this.awaitsSnapshot !== undefined) {
      const offset = this.awaitsSnapshot
      this.awaitsSnapshot = undefined
      const skipped = this.handed !== undefined && this.handed < offset
      this.next = this.handed = this.acked = this.drawn = offset
      return this.owner.onSnapshot(bytes, offset, skipped)
    }
    this.delivery.onOutput()
    const offset = this.next
    this.next = this.handed = offset + bytes.length
    this.owner.onOutput(bytes, offset)
  }

  private onText(m: ServerMessage): void {
    switch (m.type) {
      case 'hello':
        return this.onHello(m)
      case 'snapshot':
        this.awaitsSnapshot = m.offset
        return
      case 'event':
        if (m.kind === 'writer' && this.phase.is === 'watching') this.setPhase({ is: 'watching', writer: m.writer })
        return this.owner.onEvent(m)
      case 'pong':
        if (this.delivery.onPong()) this.ask()
        return
      case 'exit':
        this.drop()
        this.delivery.goOn() // nobody is left to type at
        return this.setPhase({ is: 'exited', exit: m })
      case 'detached':
        this.drop()
        if (m.reason === 'stop') return this.scheduleRetry() // the server stops, not the session
        return this.setPhase({ is: 'displaced', writer: m.writer, reason: m.reason })
      case 'error':
        return this.onError(m.code, m.message, m.writer)
    }
  }

  private onHello(hello: Hello): void {
    const resumed = this.handed === hello.offset
    this.next = this.acked = this.drawn = hello.offset
    this.failures = 0
    this.owner.onHello(hello, resumed)
    this.setPhase(this.watch ? { is: 'watching', writer: hello.writer } : { is: 'attached' })
  }

  private onError(code: string, message: string, writer?: Writer): void {
    this.drop({ lostSession: passing.has(code) })
    if (passing.has(code)) return this.scheduleRetry(true)
    if (code === 'unauthorized') return this.scheduleRetry()
    if (code === 'writer-busy') return this.setPhase({ is: 'busy', writer })
    this.setPhase({ is: 'refused', code, message })
  }

  private onClose(): void {
    doubt()
    this.drop()
    this.scheduleRetry()
  }

  /** Exponential backoff with jitter; nothing else of the page waits for it. */
  private scheduleRetry(unanswered = false): void {
    const delay = Math.min(backoffFirst * 2 ** this.failures++, backoffMost) * (0.5 + Math.random() / 2)
    this.setPhase({ is: 'disconnected', unanswered })
    this.retryTimer = window.setTimeout(() => this.connect(), delay)
  }

  private checkPulse(): void {
    if (Date.now() - this.lastHeard > silentAfter) return this.onClose()
    this.ask()
  }

  /** Ends the connection. One that we left, and that ended as it should, has brought all that was sent. */
  private drop({ left = false, lostSession = false } = {}): void {
    this.attempt++
    window.clearTimeout(this.retryTimer)
    window.clearTimeout(this.restTimer)
    window.clearTimeout(this.ackTimer)
    window.clearTimeout(this.drainTimer)
    window.clearInterval(this.pulse)
    this.ackTimer = undefined
    this.awaitsSnapshot = undefined
    const flushes = left && this.outgoing.length === 0
    this.outgoing = []
    const doubtful = this.delivery.cut(lostSession)
    if (!this.socket) return
    this.socket.onmessage = this.socket.onclose = null
    if (flushes && doubtful > 0) {
      this.socket.onclose = ({ wasClean }) => {
        if (!wasClean) return
        this.delivery.arrived(doubtful)
        this.owner.onMissed()
      }
    }
    this.socket.close()
    this.socket = undefined
  }

  private setPhase(phase: Phase): void {
    this.phase = phase
    this.owner.onPhase(phase)
  }
}
