// The server's event stream, read by fetch because an EventSource cannot send
// an Authorization header. A broken one is resumed with Last-Event-ID. Whenever
// a stream opens, the lists are read again too: cheap, and right even where the
// server has forgotten the events in between.

import { openStream } from './api'
import { doubt, isGuest, onOtherWindow } from './auth'
import { Problem, placed } from './http'
import { followsHidden, tellText } from './notify'
import { forgetView } from './term/views'
import type { Approval, Denial, Session, Stage, Workspace } from './api'
import * as store from './store'

interface Event {
  type: string
  workspace?: Workspace
  session?: Session
  id?: string
  stage?: Stage
  approval?: Approval
  denied?: Denial[]
  text?: string
  /** The machine of an event of the type remote, and what happened there. */
  runtime?: string
  remote?: Event
}

const handlers: Record<string, (e: Event) => void> = {
  workspace: (e) => e.workspace && store.putWorkspace(e.workspace),
  'workspace-deleted': (e) => store.removeWorkspace(e.id ?? e.workspace?.id ?? ''),
  session: (e) => e.session && store.putSession(e.session),
  'session-removed': (e) => removed(e.id ?? e.session?.id ?? ''),
  stage: (e) => e.stage && store.putStage(e.id ?? e.workspace?.id ?? '', e.stage),
  approval: (e) => e.approval && store.putApproval(e.approval),
  denied: (e) => e.id && e.denied && store.putDenied(e.id, e.denied),
  notification: (e) => notified(e.id ?? '', e.text ?? ''),
  resync: () => void resync(),
  runtime: () => void store.resyncRuntimes(),
  remote: (e) => e.runtime && e.remote && onRuntime(e.runtime, e.remote),
}

function onRuntime(runtime: string, e: Event): void {
  if (e.type === 'resync') return void store.resyncRuntimes()
  handlers[e.type]?.({ ...placed(runtime, e), id: e.id && `${runtime}:${e.id}` })
}

function notified(session: string, text: string): void {
  const s = store.state.sessions.get(session)
  if (s) tellText(s, text)
}

function removed(session: string): void {
  forgetView(session)
  store.removeSession(session)
}

/** Someone who wants to know that the server is there (again). */
const onLive = new Set<() => void>()

/** Calls f each time that the stream opens; returns how to stop that. */
export function whenLive(f: () => void): () => void {
  onLive.add(f)
  return () => void onLive.delete(f)
}

let stream: AbortController | undefined // none while nobody follows
let retry: number | undefined
let failures = 0
let last = '' // id of the last event that was seen

// The server shows every 15 s that it is alive; a connection that a laptop has
// slept through says nothing at all.
const silentAfter = 45_000

// A browser opens six connections to one server, for all its windows together.
// Hidden ones give theirs back, so that many windows do not block each other.
const keepHidden = 10_000
let giveBack: number | undefined

document.addEventListener('visibilitychange', () => {
  window.clearTimeout(giveBack)
  if (document.visibilityState === 'hidden' && !followsHidden()) giveBack = window.setTimeout(stop, keepHidden)
  else if (!stream) follow()
})

onOtherWindow(follow)

function stop(): void {
  window.clearTimeout(retry)
  stream?.abort()
  stream = undefined
  doubt()
}

/** Follows the server for as long as the page lives, or until nobody is logged in. */
export function follow(): void {
  stop()
  if (isGuest()) return // a shared link is of one session, and its token of no stream
  const mine = (stream = new AbortController())
  read(mine).catch((error: unknown) => mine === stream && broken(error))
}

async function read(mine: AbortController): Promise<void> {
  const response = await openStream('/events?runtimes=true', last, mine.signal)
  if (mine !== stream) return
  void opened()
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let timer: number | undefined
  let rest = ''
  try {
    for (;;) {
      timer = window.setTimeout(() => mine.abort(), silentAfter)
      const { value, done } = await reader.read()
      window.clearTimeout(timer)
      if (done) throw new Problem(0, { code: 'unreachable' })
      const blocks = (rest + value).split('\n\n')
      rest = blocks.pop()!
      if (mine === stream) blocks.forEach(take)
    }
  } finally {
    window.clearTimeout(timer)
  }
}

/** Takes one server-sent event. */
function take(block: string): void {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2)))
  last = fields.id ?? last
  if (fields.data) handlers[fields.event]?.(JSON.parse(fields.data) as Event)
}

async function opened(): Promise<void> {
  failures = 0
  if (!(await resync())) return
  store.setLink('live')
  for (const f of onLive) f()
}

/** Reads the lists again; on a failure it says so and reports false. */
async function resync(): Promise<boolean> {
  try {
    await store.resync()
    return true
  } catch (error) {
    store.report(error)
    return false
  }
}

function broken(error: unknown): void {
  doubt()
  if (error instanceof Problem && error.loggedOut) {
    stop()
    return store.setLink('login')
  }
  if (error instanceof Problem && error.code === 'impostor') store.setLink('impostor')
  else store.setLink(store.state.loaded ? 'reconnecting' : 'connecting')
  const delay = Math.min(250 * 2 ** failures++, 5000) * (0.5 + Math.random() / 2)
  window.clearTimeout(retry)
  retry = window.setTimeout(follow, delay)
}
