// The HTTP API as this client uses it; the shapes are those of internal/api.

import { bearer, forget, withAccess } from './auth'
import { API, Problem, json, placed, routed, send, textOf } from './http'

export { API, Problem }

export interface Size {
  cols: number
  rows: number
}

export interface Exit {
  code: number
  signal?: number
  signal_name?: string
  /** It ended after somebody had asked for that. */
  stopped?: boolean
  offset: number
  time: string
}

export interface Writer {
  client?: string
  since: string
}

export type SessionState =
  | 'starting' | 'running' | 'stopping' | 'exited' | 'failed' | 'lost' | 'unreachable'

export interface Session {
  id: string
  name: string
  workspace_id: string
  workspace_name: string
  /** The machine that it is on; unset for the server’s own. */
  runtime?: string
  backend: string
  state: SessionState
  pid: number
  argv?: string[]
  size: Size
  title?: string
  writer?: Writer
  watchers: number
  /** What was printed since somebody last looked; unset if that is not known. */
  unseen?: { bytes: number; bell: boolean }
  /** What its program does; unset where nothing can be known of that. */
  agent?: Agent
  /** What its sandbox does; unset where it has none. */
  sandbox?: Sandbox
  /** The bundle of its profile; unset for one that is built in or the user’s own. */
  bundle?: SessionBundle
  profile?: string
  /** By which the program of its profile takes the conversation up again; unset if that is not known. */
  conversation?: string
  exit?: Exit
  error?: string
  created_at: string
  attention: Attention
}

/** Whether something needs its user, and its place in lists: sorted by order they are as every list has them. */
export interface Attention {
  group: Group
  state: string
  since: string
  order: string
}

export type Group = 'needs-you' | 'unknown' | 'ready' | 'working' | 'ended'

/** What a network list refused. The program chose the target. */
export interface Denial {
  time: string
  via: string
  target: string
  rule: string
}

/** The bundle that a session was started with, and what the host gave of what it asks. */
export interface SessionBundle {
  id: string
  revision: number
  digest: string
  profile: string
  grants?: { asked: string; result: string; given?: string; reason?: string; rule: string }[]
  /** The newest revision, if that is another; without a digest there is none any more. */
  moved?: { revision?: number; digest?: string }
}

/** What a session may touch. */
export type Level = 'none' | 'workspace' | 'strict'

export interface Sandbox {
  level: 'workspace' | 'strict'
  method: string
  digest: string
  writable?: string[]
  private?: string[]
  temp: string
  network: string
  secrets?: string[]
  limits: string
  not_covered?: string
}

export interface Agent {
  state: 'working' | 'waiting' | 'idle' | 'done' | 'failed' | 'stopped' | 'lost' | 'unknown'
  /** What it waits for; background, if idle: work that it has started runs. */
  kind?: 'permission' | 'question' | 'login' | 'rate limit' | 'background'
  reason?: string
  since?: string
}

/** What an agent needs or has done. */
export interface NoticeItem {
  kind: 'needs-input' | 'done' | 'failed'
  session: string
}

/** What an agent asks to be allowed. */
export interface Approval {
  id: string
  session_id: string
  session: string
  agent: string
  tool: string
  summary: string
  /** A JSON object. */
  arguments: string
  diff?: string
  state: 'waiting' | 'allowed' | 'denied' | 'closed'
  rule: string
  reason: string
  created_at: string
}

export interface Stage {
  name: string
  state: 'running' | 'done' | 'failed'
  started_at: string
  finished_at?: string
  detail?: string
}

export type Mode = 'worktree' | 'directory' | 'in-place'

export interface Workspace {
  id: string
  name: string
  label: string
  /** The machine that it is on; unset for the server’s own. */
  runtime?: string
  mode: Mode
  path: string
  root: string
  repository?: string
  repository_name?: string
  branch?: string
  /** The branch was made for this workspace. */
  own_branch?: boolean
  base?: string
  base_commit?: string
  state: 'creating' | 'ready' | 'failed' | 'deleting'
  error?: string
  created_at: string
  stages?: Stage[]
  sessions?: Session[]
  /** Of one without sessions. */
  attention: Attention
}

export interface NewSession {
  name?: string
  command?: string[]
  profile?: string
  /** The id of the ended session in whose place it is started. */
  restarts?: string
  /** The first prompt for the profile’s program. */
  prompt?: string
  sandbox?: Level
  size?: Size
}

/** A profile as a session with it would be started now. */
export interface Profile {
  name: string
  program?: string
  source: string
  path?: string
  /** Why it cannot be started. */
  problem?: string
  takes_prompt: boolean
  /** The level of a session for which none is named. */
  sandbox?: Level
}

export interface NewWorkspace {
  name?: string
  mode: Mode
  directory?: string
  base?: string
  session?: NewSession
}

/** What a deletion would destroy. */
export interface Loss {
  changed?: string[]
  untracked?: string[]
  untracked_more?: number
  stashed?: string[]
  commits?: string[]
  /** Ignored files too large to be kept, but for build results, caches and logs. */
  large?: string[]
  operation?: string
  /** What goes though it is no reason to refuse. */
  ignored?: string[]
  abandoned?: string[]
  merged?: string[]
  truncated?: boolean
}

export interface Deleted {
  workspace: Workspace
  lost: Loss
  stopped?: Session[]
  warnings?: string[]
  restorable: boolean
  unkept?: string[]
  /** Commands of the repository that run before. */
  teardown?: string[]
  /** The workspaces of its workers, which are deleted before it. */
  workers?: Deleted[]
  /** How many of its sessions' transcripts are kept, or are not. */
  transcripts: { sessions: number; bytes: number; gone?: number }
}

export interface DeleteConsent {
  discardWork: boolean
  stopSessions: boolean
  forgetTranscripts?: boolean
  skipTeardown?: boolean
  workers?: boolean
}

/** Another machine whose workspaces and sessions the server drives. */
export interface Runtime {
  name: string
  state: 'unknown' | 'reachable' | 'unreachable' | 'refused'
  detail?: string
  version?: string
  since: string
}

/** What a machine has; of one that does not answer, what it told last. */
export interface RuntimeList {
  runtime: Runtime
  current: boolean
  as_of?: string
  workspaces: Workspace[]
  sessions: Session[]
}

/** A browser that is logged in. */
export interface Login {
  id: string
  name: string
  address: string
  origin: string
  created_at: string
  last_used_at: string
  expires_at: string
  current: boolean
}

export async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const how = body === undefined ? {} : json(body)
  const text = await withAccess(async (token) => textOf(await send(method, path, bearer(how, token))))
  const answer = (text ? JSON.parse(text) : undefined) as T
  const on = /^\/runtimes\/([^/]+)\/./.exec(routed(path))
  return on ? placed(on[1], answer) : answer
}

/** Opens a stream of events after the one with id last. */
export const openStream = (path: string, last: string, signal: AbortSignal) =>
  withAccess((token) => send('GET', path, bearer({ signal, ...(last && { headers: { 'Last-Event-ID': last } }) }, token)))

interface Page {
  next?: string
}

/** Follows the cursors of a list to its end. */
async function everyPage<P extends Page, T>(path: string, items: (page: P) => T[] | undefined): Promise<T[]> {
  const all: T[] = []
  let cursor = ''
  do {
    const page: P = await request('GET', path + (cursor && `?cursor=${encodeURIComponent(cursor)}`))
    all.push(...(items(page) ?? []))
    cursor = page.next ?? ''
  } while (cursor)
  return all
}

export const listWorkspaces = () =>
  everyPage('/workspaces', (page: Page & { workspaces?: Workspace[] }) => page.workspaces)

export const listSessions = () =>
  everyPage('/sessions', (page: Page & { sessions?: Session[] }) => page.sessions)

export const listApprovals = (runtime?: string) =>
  everyPage(`${runtime ? `/runtimes/${runtime}` : ''}/approvals`, (page: Page & { approvals?: Approval[] }) => page.approvals)

/** What all machines have, but for the server’s own. */
export const overview = async () =>
  (await request<{ runtimes: RuntimeList[] }>('GET', '/overview')).runtimes.map((r) => placed(r.runtime.name, r))

/** Asks a machine whether it can be used. */
export const checkRuntime = (name: string) => request<Runtime>('POST', `/runtimes/${name}/check`)

export const answerApproval = (id: string, decision: 'allow' | 'deny', reason: string) =>
  request<Approval>('POST', `/approvals/${id}`, { decision, ...(decision === 'deny' && reason && { reason }) })

/** A workspace by its id, its name, or NAME@REPOSITORY. */
export const getWorkspace = (id: string) => request<Workspace>('GET', `/workspaces/${encodeURIComponent(id)}`)

export const createWorkspace = (body: NewWorkspace, runtime = '') =>
  request<{ workspace: Workspace }>('POST', `${runtime && `/runtimes/${runtime}`}/workspaces`, body)

export function deleteWorkspace(id: string, consent: DeleteConsent, dryRun = false): Promise<Deleted> {
  const query = new URLSearchParams()
  if (consent.discardWork) query.set('discard_work', '1')
  if (consent.stopSessions) query.set('stop_sessions', '1')
  if (consent.forgetTranscripts) query.set('forget_transcripts', '1')
  if (consent.skipTeardown) query.set('skip_teardown', '1')
  if (consent.workers) query.set('workers', '1')
  if (dryRun) query.set('dry_run', '1')
  const text = query.toString()
  return request('DELETE', `/workspaces/${id}${text && '?' + text}`)
}

/** The profiles to start a session with; of a workspace (/workspaces/ID), of a runtime (/runtimes/NAME), or of the server (empty). */
export const listProfiles = async (of: string) => (await request<{ profiles: Profile[] }>('GET', `${of}/profiles`)).profiles

export const startSession = (workspace: string, body: NewSession) =>
  request<Session>('POST', `/workspaces/${workspace}/sessions`, body)

/** Takes the conversation of an ended session up again, in a session of its own. */
export const resumeSession = (id: string) => request<Session>('POST', `/sessions/${id}/resume`, {})

/** Stops a running session, which stays listed as exited; removes an ended one. */
export const deleteSession = (id: string) => request<Session>('DELETE', `/sessions/${id}`)

/**
 * What a session’s screen must still be for an answer to what was drawn up to an offset:
 * its text, so that a title that moves does not matter; or no output since then, where
 * the server cannot tell the text.
 */
async function asDrawn(session: string, offset: number): Promise<string> {
  const shown = await withAccess((token) => send('GET', `/sessions/${session}/capture?at=${offset}`, bearer({}, token))).catch(() => undefined)
  return shown?.headers.get('Middleman-Hash') || String(offset)
}

/**
 * Types a text and submits it. With an offset it does so if the screen is still the one
 * of then, at a dialog too; without, if the server sees that none shows.
 */
export async function sendPrompt(session: string, text: string, seen?: number): Promise<void> {
  const answer = seen === undefined ? {} : { expect: await asDrawn(session, seen), answer: true }
  await request<{ offset: number }>('POST', `/sessions/${session}/prompt`, { text, ...answer })
}

/** Types keys, if the screen is still the one of an offset. */
export async function typeExpecting(session: string, keys: string, seen: number): Promise<void> {
  const expect = await asDrawn(session, seen)
  await withAccess((token) => send('POST', `/sessions/${session}/input?expect=${expect}`,
    bearer({ body: keys, headers: { 'Content-Type': 'application/octet-stream' } }, token)))
}

export const getVersion = () => request<{ version?: string }>('GET', '/version')

/** Ends this browser's login, and forgets its key. */
export async function logout(): Promise<void> {
  await request<unknown>('POST', '/logout')
  await forget()
}

export const listLogins = async () => (await request<{ logins: Login[] }>('GET', '/logins')).logins

export const deleteLogin = (id: string) => request<unknown>('DELETE', `/logins/${id}`)

/** Ends all logins, this one too. */
export async function deleteLogins(): Promise<void> {
  await request<unknown>('DELETE', '/logins')
  await forget()
}

/** What opens one thing of a session once, where no header can be sent. */
export const newTicket = async (session: string, what: 'attach' | 'watch' | 'output' | 'recording') =>
  (await request<{ ticket: string }>('POST', `/sessions/${session}/tickets`, { for: what })).ticket

/** Has the browser save a session's recording. */
export async function downloadRecording(session: string): Promise<void> {
  const link = document.createElement('a')
  link.href = API + routed(`/sessions/${session}/recording?ticket=${await newTicket(session, 'recording')}`)
  link.download = ''
  link.click()
}

/** Whether notices are pushed to this browser. */
export interface Push {
  server_key: string
  endpoint?: string
  content: boolean
  problem?: string
}

export const getPush = () => request<Push>('GET', '/push-subscription')

export const setPush = (body: { endpoint: string; key: string; auth: string; content: boolean }) => request<unknown>('PUT', '/push-subscription', body)

export const stopPush = () => request<unknown>('DELETE', '/push-subscription')
