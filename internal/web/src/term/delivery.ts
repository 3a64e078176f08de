// What became of the keys that were typed: whether the server has read them,
// and how many did not get there. A line with a hole in it must not go on:
// where keys are missing nothing is sent until the user has seen that.

const travels = 1000 // ms that a key may take to a program on another machine
const pause = 1000 // ms without a key after which Esc is an answer, not part of what was being typed
const mostSent = 1000 // entries that are kept; older ones have arrived

interface Sent {
  keys: number
  at: number
  read: boolean // by the server
}

export class Delivery {
  /** Keys that were not sent. */
  missed = 0
  /** Keys before them that were sent and may not have arrived. */
  doubtful = 0
  private sentKeys: Sent[] = []
  /** How many of sentKeys a ping asks about, while one is on its way. */
  private asked?: number
  private lastMissed = 0

  /** Whether keys are missing and the user has not said to go on. */
  get incomplete(): boolean {
    return this.missed + this.doubtful > 0
  }

  sent(keys: number): void {
    this.sentKeys.push({ keys, at: Date.now(), read: false })
    if (this.sentKeys.length > mostSent) this.forget(1)
  }

  miss(keys: number, isEsc: boolean): void {
    this.missed += keys
    if (!isEsc) this.lastMissed = Date.now() // who presses it again and again gets out
  }

  /** Whether to send a ping now; all says that no key waits behind it. */
  ask(all: boolean): boolean {
    if (this.asked !== undefined) return false
    this.asked = all ? this.sentKeys.length : 0
    return true
  }

  /** The ping was answered. Returns whether keys were sent after it. */
  onPong(): boolean {
    for (const sent of this.sentKeys.slice(0, this.asked)) sent.read = true
    this.asked = undefined
    return this.sentKeys.some((sent) => !sent.read)
  }

  /** The program printed something, so the way to it is open. */
  onOutput(): void {
    const since = Date.now() - travels
    const old = this.sentKeys.findIndex((sent) => !sent.read || sent.at > since)
    const arrived = old < 0 ? this.sentKeys.length : old
    if (arrived > 0) this.forget(arrived)
  }

  private forget(oldest: number): void {
    this.sentKeys.splice(0, oldest)
    if (this.asked !== undefined) this.asked = Math.max(this.asked - oldest, 0)
  }

  /** The connection ended. What the server has read is in doubt too where it lost the session. Returns how many keys are. */
  cut(lostSession: boolean): number {
    const doubtful = this.sentKeys.filter((sent) => lostSession || !sent.read).reduce((sum, sent) => sum + sent.keys, 0)
    this.doubtful += doubtful
    this.sentKeys = []
    this.asked = undefined
    return doubtful
  }

  /** Keys that were in doubt have arrived. */
  arrived(keys: number): void {
    this.doubtful = Math.max(this.doubtful - keys, 0)
  }

  /** Whether an Esc now answers the notice; one amid other keys was meant for the program. */
  get takesEsc(): boolean {
    return Date.now() - this.lastMissed > pause
  }

  goOn(): void {
    this.missed = this.doubtful = 0
  }
}
