// What the server has told us, and what the user looks at. One plain store:
// components read it through useStore and call the functions below.

import { useEffect, useReducer } from 'preact/hooks'
import * as api from './api'
import type { Approval, Denial, Exit, RuntimeList, Session, Stage, Workspace } from './api'
import { pathOf, place } from './nav'
import { tell } from './notify'
import { inOrder } from './order'

/**
 * How the event stream stands; "login" means that the server wants a login
 * link, "impostor" that it is not our server that answers.
 */
export type Link = 'connecting' | 'live' | 'reconnecting' | 'login' | 'impostor'

export interface Toast {
  id: number
  kind: 'info' | 'error' | 'news'
  text: string
  /** What can be done about it. */
  action?: { label: string; run: () => void }
  /** Milliseconds that it stays, from when it is drawn. */
  stays: number
  /** The session that it is about, by id: it goes once the user looks at that. */
  session?: string
}

interface State {
  link: Link
  /** Why the link that the page was opened with did not log in, or empty. */
  refused: string
  loaded: boolean
  version: string
  workspaces: Map<string, Workspace>
  sessions: Map<string, Session>
  /** What agents wait to be allowed. */
  approvals: Map<string, Approval>
  /** The other machines, by name. */
  runtimes: Map<string, RuntimeList>
  /** What the network list of a session refused since the page is open, by its id; the last ones. */
  denied: Map<string, Denial[]>
  toasts: Toast[]
}

export const state: State = {
  link: 'connecting',
  refused: '',
  loaded: false,
  version: '',
  workspaces: new Map(),
  sessions: new Map(),
  approvals: new Map(),
  runtimes: new Map(),
  denied: new Map(),
  toasts: [],
}

const listeners = new Set<() => void>()
let scheduled = false

/** Draws everything that reads the store again, once a task. */
export function changed(): void {
  if (scheduled) return
  scheduled = true
  queueMicrotask(() => {
    scheduled = false
    for (const listener of listeners) listener()
  })
}

export function useStore(): State {
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  useEffect(() => {
    const listener = () => redraw(undefined as never)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return state
}

export function setLink(link: Link): void {
  if (state.link === link) return
  state.link = link
  changed()
}

/** Says why a login link was of no use. */
export function refuse(why: string): void {
  state.refused = why
  toast('error', why)
}

// An answer may be older than an event that overtook it. So whoever asks takes
// a mark before, and what was heard of since then is not put back.
let heard = 0
const lastHeard = new Map<string, number>() // by id of a workspace or session

export const mark = () => heard

function hear(id: string): void {
  lastHeard.set(id, ++heard)
}

const overtaken = (id: string, asked: number) => (lastHeard.get(id) ?? 0) > asked

/** Replaces everything by the server's lists. */
export async function resync(): Promise<void> {
  const asked = mark()
  const [workspaces, sessions, approvals] = await Promise.all([api.listWorkspaces(), api.listSessions(), api.listApprovals()])
  state.workspaces = merged(state.workspaces, workspaces.map(withKnownStages), asked, isOurs)
  state.sessions = merged(state.sessions, sessions, asked, isOurs)
  state.approvals = merged(state.approvals, approvals, asked, isOurs)
  state.loaded = true
  changed()
  void resyncRuntimes()
  if (!state.version) {
    state.version = (await api.getVersion()).version ?? ''
    changed()
  }
}

/** Whether an id is one of the server itself, and not of another machine. */
const isOurs = (id: string) => !id.includes(':')

const readEvery = 1000
let asking: Promise<void> | undefined
let askAgain = false

/** Replaces what other machines have by what the server tells of them. It waits for those that are slow, and nobody for it. */
export function resyncRuntimes(): Promise<void> {
  askAgain = true
  asking ??= readRuntimes().catch(report).finally(() => (asking = undefined))
  return asking
}

async function readRuntimes(): Promise<void> {
  while (askAgain) {
    askAgain = false
    const asked = mark()
    const all = await api.overview()
    const asks = await Promise.all(all.map((r) => (r.current ? api.listApprovals(r.runtime.name).catch(() => []) : [])))
    state.runtimes = new Map(all.map((r) => [r.runtime.name, r]))
    const theirs = (id: string) => !isOurs(id)
    state.workspaces = merged(state.workspaces, all.flatMap((r) => r.workspaces).map(withKnownStages), asked, theirs)
    state.sessions = merged(state.sessions, all.flatMap((r) => r.sessions), asked, theirs)
    state.approvals = merged(state.approvals, asks.flat(), asked, theirs)
    changed()
    await new Promise((next) => setTimeout(next, readEvery)) // whatever a machine does, it is not asked all the time
  }
}

/** Asks this server and every other machine, and says of those that did not answer why. */
export async function onEach<T>(ask: (runtime: string) => Promise<T>): Promise<{ answers: T[]; problems: string[] }> {
  const asked = await Promise.allSettled(['', ...state.runtimes.keys()].map(ask))
  return {
    answers: asked.flatMap((a) => (a.status === 'fulfilled' ? [a.value] : [])),
    problems: asked.flatMap((a) => (a.status === 'rejected' ? [(a.reason as Error).message] : [])),
  }
}

/** Replaces the part of what is known that list is about, but for what was heard of since. */
function merged<T extends { id: string }>(known: Map<string, T>, list: T[], asked: number, about: (id: string) => boolean): Map<string, T> {
  const result = new Map(list.filter((item) => !overtaken(item.id, asked)).map((item) => [item.id, item]))
  for (const item of known.values()) if (!about(item.id) || overtaken(item.id, asked)) result.set(item.id, item)
  return result
}

/** Lists and events come without stages; those that were seen stay. */
function withKnownStages(w: Workspace): Workspace {
  return w.stages ? w : { ...w, stages: state.workspaces.get(w.id)?.stages }
}

/** Takes an event, or the answer to a question that was asked at a mark. */
export function putWorkspace(w: Workspace, asked = heard): void {
  const known = state.workspaces.get(w.id)
  if (overtaken(w.id, asked)) {
    if (known && !known.stages) state.workspaces.set(w.id, { ...known, stages: w.stages })
    return changed()
  }
  hear(w.id)
  if (known && known.label !== w.label) relabelled(known.label, w.label)
  state.workspaces.set(w.id, withKnownStages(w))
  for (const s of w.sessions ?? []) putSession(s, asked)
  changed()
}

/** Who looks at a workspace goes on looking at it under its new label. */
function relabelled(from: string, to: string): void {
  const at = place()
  if (at.workspace === from) history.replaceState(null, '', pathOf({ ...at, workspace: to }))
}

export function putStage(workspaceID: string, stage: Stage): void {
  const w = state.workspaces.get(workspaceID)
  if (!w) return
  const stages = [...(w.stages ?? [])]
  const at = stages.findIndex((s) => s.name === stage.name)
  // The end of a stage is told with its own time alone.
  if (at >= 0) stages[at] = { ...stage, started_at: stages[at].started_at }
  else stages.push(stage)
  state.workspaces.set(workspaceID, { ...w, stages })
  changed()
}

export function removeWorkspace(id: string): void {
  hear(id)
  state.workspaces.delete(id)
  for (const s of state.sessions.values()) if (s.workspace_id === id) removeSession(s.id)
  changed()
}

/** Takes an event, or the answer to a question that was asked at a mark. */
export function putSession(s: Session, asked = heard): void {
  if (overtaken(s.id, asked)) return
  const known = state.sessions.get(s.id)
  if (known?.state === 'exited' && isLive(s)) return // an event from before its end, see putExit
  hear(s.id)
  tell(known, s)
  if (known && known.name !== s.name) renamed(known, s)
  state.sessions.set(s.id, s)
  changed()
}

/** Takes how a session ended, which its terminal tells before the server’s events do. */
export function putExit(id: string, exit: Exit): void {
  const s = state.sessions.get(id)
  if (s && isLive(s)) putSession({ ...s, state: 'exited', exit, writer: undefined })
}

/** Who looks at a session goes on looking at it under its new name, whoever renamed it. */
function renamed(from: Session, to: Session): void {
  const at = place()
  if (at.workspace === from.workspace_name && at.session === from.name) history.replaceState(null, '', pathOf({ ...at, session: to.name }))
}

/** Takes a request of an agent; one that waits no more goes. */
export function putApproval(a: Approval): void {
  hear(a.id)
  if (a.state === 'waiting') state.approvals.set(a.id, a)
  else state.approvals.delete(a.id)
  changed()
}

export function setTitle(sessionID: string, title: string): void {
  const s = state.sessions.get(sessionID)
  if (!s || s.title === title) return
  state.sessions.set(sessionID, { ...s, title })
  changed()
}

const keptDenials = 20

export function putDenied(session: string, list: Denial[]): void {
  state.denied.set(session, [...(state.denied.get(session) ?? []), ...list].slice(-keptDenials))
  changed()
}

export function removeSession(id: string): void {
  hear(id)
  state.sessions.delete(id)
  state.denied.delete(id)
  changed()
}

let lastToast = 0

export function toast(kind: Toast['kind'], text: string, action?: Toast['action'], session?: string): void {
  const id = ++lastToast
  const stays = action ? 15_000 : kind === 'error' ? 9000 : 4000
  state.toasts = [...state.toasts.slice(-3), { id, kind, text, action, stays, session }]
  changed()
}

export function dismissToast(id: number): void {
  state.toasts = state.toasts.filter((t) => t.id !== id)
  changed()
}

/** Shows why something failed; a missing login shows the login page instead. */
export function report(error: unknown): void {
  if (error instanceof api.Problem && error.loggedOut) return setLink('login')
  toast('error', error instanceof Error ? error.message : String(error))
}

export function sessionsOf(workspaceID: string): Session[] {
  return inOrder([...state.sessions.values()].filter((s) => s.workspace_id === workspaceID))
}

/** The session that a workspace's page shows: the one of that name, else the first live one. */
export function shownSession(workspaceID: string, name?: string): Session | undefined {
  const sessions = sessionsOf(workspaceID)
  return sessions.find((s) => s.name === name) ?? sessions.find(isLive) ?? sessions[0]
}

/** Whether it is proved that a session has ended. */
export const isOver = (s: Session) => !isLive(s) && s.state !== 'unreachable'

export const isLive = (s: Session) => s.state === 'running' || s.state === 'starting' || s.state === 'stopping'
