// The server's event stream. The browser resumes a broken one by itself with
// Last-Event-ID. Whenever a stream opens, the lists are read again too: cheap,
// and right even where the server has forgotten the events in between.

import { API } from './api'
import { forgetView } from './term/views'
import type { Session, Stage, Workspace } from './api'
import * as store from './store'

interface Event {
  type: string
  workspace?: Workspace
  session?: Session
  id?: string
  stage?: Stage
}

const handlers: Record<string, (e: Event) => void> = {
  workspace: (e) => e.workspace && store.putWorkspace(e.workspace),
  'workspace-deleted': (e) => store.removeWorkspace(e.id ?? e.workspace?.id ?? ''),
  session: (e) => e.session && store.putSession(e.session),
  'session-removed': (e) => removed(e.id ?? e.session?.id ?? ''),
  stage: (e) => e.stage && store.putStage(e.id ?? e.workspace?.id ?? '', e.stage),
  resync: () => void resync(),
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

let source: EventSource | undefined
let retry: number | undefined
let failures = 0

// A browser opens six connections to one server, for all its windows together.
// Hidden ones give theirs back, so that many windows do not block each other.
const keepHidden = 10_000
let giveBack: number | undefined

document.addEventListener('visibilitychange', () => {
  window.clearTimeout(giveBack)
  if (document.visibilityState === 'hidden') giveBack = window.setTimeout(pause, keepHidden)
  else if (source?.readyState === EventSource.CLOSED) follow()
})

function pause(): void {
  window.clearTimeout(retry)
  source?.close()
}

/** Follows the server for as long as the page lives. */
export function follow(): void {
  window.clearTimeout(retry)
  source?.close()
  source = new EventSource(`${API}/events`)
  source.onopen = () => void opened()
  source.onerror = () => void broken()
  for (const [type, handle] of Object.entries(handlers)) {
    source.addEventListener(type, (message) => handle(JSON.parse((message as MessageEvent<string>).data) as Event))
  }
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

async function broken(): Promise<void> {
  if (store.state.link !== 'login') store.setLink(store.state.loaded ? 'reconnecting' : 'connecting')
  if (!store.state.loaded || source?.readyState === EventSource.CLOSED) {
    // An EventSource does not show a status: ask in a way that does.
    const status = await fetch(`${API}/workspaces`).then((r) => r.status, () => 0)
    if (status === 401) return store.setLink('login')
  }
  const delay = Math.min(250 * 2 ** failures++, 5000) * (0.5 + Math.random() / 2)
  window.clearTimeout(retry)
  if (source?.readyState === EventSource.CLOSED) retry = window.setTimeout(follow, delay)
}
