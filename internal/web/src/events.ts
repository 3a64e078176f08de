// The server's event stream, read by fetch because an EventSource cannot send
// an Authorization header, and by one window for all. A broken one is resumed with
// Last-Event-ID, by the window that is next. Whenever a stream opens, the lists are
// read again too: cheap, and right even where the server has forgotten the events
// in between.

import { openStream } from './api'
import { doubt, isGuest, onOtherWindow } from './auth'
import { Problem, placed } from './http'
import { tellNotice, tellText } from './notify'
import { forgetView } from './term/views'
import type { Approval, Denial, NoticeItem, Session, Stage, Workspace } from './api'
import * as store from './store'
import { alone, onWord, say } from './windows'
import type { Word } from './windows'

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
  notice?: { items: NoticeItem[] }
}

const handlers: Record<string, (e: Event) => void> = {
  workspace: (e) => e.workspace && store.putWorkspace(e.workspace),
  'workspace-deleted': (e) => store.removeWorkspace(e.id ?? e.workspace?.id ?? ''),
  session: (e) => e.session && store.putSession(e.session),
  'session-removed': (e) => removed(e.id ?? e.session?.id ?? ''),
  stage: (e) => e.stage && store.putStage(e.id ?? e.workspace?.id ?? '', e.stage),
  approval: (e) => e.approval && store.putApproval(e.approval),
  denied: (e) => e.id && e.denied && store.putDenied(e.id, e.denied),
  notice: (e) => e.notice && tellNotice(e.notice.items),
  notification: (e) => notified(e.id ?? '', e.text ?? ''),
  resync: () => void store.resync().catch(store.report),
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

let following: AbortController | undefined // none while this window follows nothing
let streams = false // this window has the stream
let live = false // this window or another one has it
let retry: number | undefined
let failures = 0
let last = '' // id of the last event that was taken

// The server shows every 15 s that it is alive; a connection that a laptop has
// slept through says nothing at all, and nor does a window that hangs.
const silentAfter = 45_000
const answerAfter = 10_000
let heard = 0 // when the stream last had anything
let silence: number | undefined

// A window that was hidden may have been asleep. It follows again at once if it
// has missed something; else it goes on, since its title tells who needs the user.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible' && Date.now() - heard > silentAfter / 2) follow()
})

onOtherWindow(follow)
onWord((word) => following && hear(word))

function stop(): void {
  window.clearTimeout(retry)
  window.clearTimeout(silence)
  following?.abort()
  following = retry = undefined
  streams = live = false
  doubt()
}

/** Follows the server for as long as the page lives, or until nobody is logged in. */
export function follow(): void {
  begin({})
}

function begin(how: LockOptions): void {
  stop()
  if (isGuest()) return // a shared link is of one session, and its token of no stream
  const mine = (following = new AbortController())
  expectWord(answerAfter)
  say({ is: 'joined' })
  alone(how.steal ? how : { signal: mine.signal }, () => read(mine))
    .catch((error: unknown) => mine === following && broken(error))
}

function hear(word: Word): void {
  if (word.is === 'joined') return streams ? say({ is: 'streaming', last }) : undefined
  if (streams) return // it is from a window that has lost the stream
  expectWord(silentAfter * 1.5)
  if (word.is === 'doubt') return doubt()
  if (word.is === 'events') return live ? word.blocks.forEach(take) : undefined
  if (word.is === 'streaming') last ||= word.last
  if (retry !== undefined) follow() // the server answers again
  else if (word.is === 'opened' || !live) void opened()
}

/** Takes the stream from a window that says nothing for so long, or up to twice as long: not all do at once. */
function expectWord(within: number): void {
  heard = Date.now()
  window.clearTimeout(silence)
  silence = window.setTimeout(() => begin({ steal: true }), within * (1 + Math.random()))
}

async function read(mine: AbortController): Promise<void> {
  window.clearTimeout(silence)
  say({ is: 'doubt' })
  doubt()
  const response = await openStream('/events?runtimes=true', last, mine.signal)
  if (mine !== following) return
  streams = true
  say({ is: 'opened' })
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
      if (mine !== following) return
      heard = Date.now()
      say({ is: 'events', blocks })
      blocks.forEach(take)
    }
  } finally {
    window.clearTimeout(timer)
  }
}

/** Takes one server-sent event, unless another window has passed it on before. */
function take(block: string): void {
  const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2)))
  if (fields.data && !isLater(fields.id)) return
  last = fields.id ?? last
  if (fields.data) handlers[fields.event]?.(JSON.parse(fields.data) as Event)
}

/** Whether an event follows the last one; ids of one server are NAME.NUMBER. */
function isLater(id: string): boolean {
  const [[server, number], [lastServer, lastNumber]] = [id.split('.'), last.split('.')]
  return server !== lastServer || Number(number) > Number(lastNumber)
}

async function opened(): Promise<void> {
  const mine = following
  live = true
  try {
    await store.resync()
  } catch (error) {
    if (mine !== following) return
    store.report(error)
    return broken(error)
  }
  if (mine !== following) return
  failures = 0
  store.setLink('live')
  for (const f of onLive) f()
}

function broken(error: unknown): void {
  following?.abort()
  streams = live = false
  doubt()
  if (error instanceof Problem && error.loggedOut) {
    stop()
    return store.setLink('login')
  }
  if (error instanceof Problem && error.code === 'impostor') store.setLink('impostor')
  else store.setLink(store.state.loaded ? 'reconnecting' : 'connecting')
  const delay = Math.min(250 * 2 ** failures++, 5000) * (0.5 + Math.random() / 2)
  window.clearTimeout(silence)
  window.clearTimeout(retry)
  retry = window.setTimeout(follow, delay)
}
