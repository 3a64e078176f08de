// The HTTP API as this client uses it; the shapes are those of internal/api.

export interface Size {
  cols: number
  rows: number
}

export interface Exit {
  code: number
  signal?: number
  signal_name?: string
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
  backend: string
  state: SessionState
  pid: number
  argv?: string[]
  size: Size
  title?: string
  writer?: Writer
  watchers: number
  exit?: Exit
  error?: string
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
  mode: Mode
  path: string
  root: string
  repository?: string
  branch?: string
  base?: string
  base_commit?: string
  state: 'creating' | 'ready' | 'failed' | 'deleting'
  error?: string
  created_at: string
  stages?: Stage[]
  sessions?: Session[]
}

export interface NewSession {
  name?: string
  command?: string[]
  size?: Size
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
  stashed?: string[]
  commits?: string[]
  operation?: string
  /** What goes though it is no reason to refuse. */
  ignored?: string[]
  abandoned?: string[]
  truncated?: boolean
}

export interface Deleted {
  workspace: Workspace
  lost: Loss
  stopped?: Session[]
  warnings?: string[]
  restorable: boolean
  unkept?: string[]
}

export interface DeleteConsent {
  discardWork: boolean
  stopSessions: boolean
}

interface ProblemBody {
  status?: number
  title?: string
  detail?: string
  code?: string
  lost?: Loss
  sessions?: Session[]
}

/** An RFC 9457 problem, or no answer at all (status 0, code "unreachable"). */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly lost?: Loss
  readonly sessions?: Session[]

  constructor(status: number, body: ProblemBody) {
    super(body.detail || body.title || `The server answered with status ${status}.`)
    this.status = status
    this.code = body.code ?? ''
    this.lost = body.lost
    this.sessions = body.sessions
  }
}

export const API = '/api/v1'

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  let response: Response
  try {
    response = await fetch(API + path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  } catch {
    throw new Problem(0, { code: 'unreachable', detail: 'The server does not answer. Sessions keep running without it.' })
  }
  const text = await response.text()
  if (!response.ok) throw new Problem(response.status, parseProblem(text))
  return (text ? JSON.parse(text) : undefined) as T
}

function parseProblem(text: string): ProblemBody {
  try {
    return JSON.parse(text) as ProblemBody
  } catch {
    return { detail: text.trim().slice(0, 300) }
  }
}

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

export const getWorkspace = (id: string) => request<Workspace>('GET', `/workspaces/${id}`)

export const createWorkspace = (body: NewWorkspace) =>
  request<{ workspace: Workspace }>('POST', '/workspaces', body)

export function deleteWorkspace(id: string, consent: DeleteConsent, dryRun = false): Promise<Deleted> {
  const query = new URLSearchParams()
  if (consent.discardWork) query.set('discard_work', '1')
  if (consent.stopSessions) query.set('stop_sessions', '1')
  if (dryRun) query.set('dry_run', '1')
  const text = query.toString()
  return request('DELETE', `/workspaces/${id}${text && '?' + text}`)
}

export const startSession = (workspace: string, body: NewSession) =>
  request<Session>('POST', `/workspaces/${workspace}/sessions`, body)

/** Stops a running session, which stays listed as exited; removes an ended one. */
export const deleteSession = (id: string) => request<Session>('DELETE', `/sessions/${id}`)

export const getVersion = () => request<{ version?: string }>('GET', '/version')

export const logout = () => request<unknown>('POST', '/logout')
