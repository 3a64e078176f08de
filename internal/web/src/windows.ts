// The windows of one browser share one stream of events, because a browser opens
// six connections to one server, for all its windows together. The window that
// holds a lock reads the stream, and tells the others what it reads.

/** What windows say to each other. */
export type Word =
  /** A window begins to follow, and asks whether another one has the stream. */
  | { is: 'joined' }
  | { is: 'streaming'; last: string }
  /** The connection of before has ended: the server must prove again who it is. */
  | { is: 'doubt' }
  | { is: 'opened' }
  | { is: 'events'; blocks: string[] }

let shared = 'locks' in navigator
const channel = new BroadcastChannel('middleman.events')

export function say(word: Word): void {
  if (shared) channel.postMessage(word)
}

/** Calls f with what the other windows say. */
export function onWord(f: (word: Word) => void): void {
  channel.onmessage = ({ data }) => shared && f(data as Word)
}

/** Reads the stream by f once no other window does; where the browser refuses locks, at once, and says nothing of it. */
export async function alone(how: LockOptions, f: () => Promise<void>): Promise<void> {
  try {
    if (shared) return await navigator.locks.request('middleman.events', how, f)
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'SecurityError')) throw error
    shared = false
  }
  return f()
}
