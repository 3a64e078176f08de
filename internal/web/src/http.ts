// One request to the server, and what can become of it.

import type { Loss, Session } from './api'

export const API = '/api/v1'

/** The path on the server of what is on a runtime: here its id is RUNTIME:ID. */
export const routed = (path: string) =>
  path.replace(/^\/(sessions|workspaces|approvals)\/([a-z0-9][a-z0-9-]{1,31})(?::|%3A)/, '/runtimes/$2/$1/')

const named = new Set(['id', 'label', 'workspace_id', 'workspace_name', 'session_id', 'session', 'parent_session'])

/** What a runtime has told, with its name before the ids and labels of workspaces, sessions and requests. */
export function placed<T>(runtime: string, value: T): T {
  if (Array.isArray(value)) return value.map((item) => placed(runtime, item)) as T
  if (!value || typeof value !== 'object') return value
  const here = 'label' in value || 'workspace_id' in value || 'session_id' in value
  return Object.fromEntries(Object.entries(value).map(([key, item]) =>
    [key, here && named.has(key) && typeof item === 'string' ? `${runtime}:${item}` : placed(runtime, item)])) as T
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

  /** Nobody is logged in here: the login has ended, or the server has another address by now (421). */
  get loggedOut(): boolean {
    return this.status === 401 || this.status === 421
  }
}

/** Sends a request and returns its answer; anything but a success is a Problem. */
export async function send(method: string, path: string, how: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(API + routed(path), { ...how, method, credentials: 'omit', redirect: 'error' })
  } catch {
    throw new Problem(0, { code: 'unreachable', detail: 'The server does not answer. Sessions do not need it, but whether they run is not known until it does.' })
  }
  if (!response.ok) throw new Problem(response.status, parseProblem(await response.text().catch(() => '')))
  return response
}

/** The text of an answer. One that is cut off on its way, as by the end of the server, is a Problem too. */
export async function textOf(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch {
    throw new Problem(0, { code: 'unreachable', detail: 'The server’s answer was cut off. Sessions do not need it, but whether they run is not known until it answers again.' })
  }
}

function parseProblem(text: string): ProblemBody {
  try {
    return JSON.parse(text) as ProblemBody
  } catch {
    return { detail: text.trim().slice(0, 300) }
  }
}

export const json = (body: unknown): RequestInit => ({
  headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
})
