// What the server tells of a workspace's git, and what can be done with it.

import { bearer, withAccess } from '../auth'
import { request } from '../api'
import type { Workspace } from '../api'
import { send, textOf } from '../http'

export type Against = 'base' | 'merge-base' | 'head' | 'upstream'

export interface Distance {
  of: string
  ahead: number
  behind: number
}

/** A part that is unset is not known, which is not the same as zero. */
export interface Status {
  branch?: string
  head?: string
  operation?: string
  files?: { staged: number; changed: number; untracked: number; conflicted: number }
  upstream?: Distance
  base?: Distance
  unknown?: string[]
  warnings?: string[]
  as_of?: string
}

export interface FileChange {
  path: string
  from?: string
  change: 'added' | 'deleted' | 'changed' | 'renamed' | 'type' | 'conflict'
  untracked?: boolean
  added: number
  deleted: number
  binary?: boolean
}

export interface Diff {
  against: Against
  of: string
  commit: string
  files: FileChange[]
  more?: number
  added: number
  deleted: number
  left_out?: string[]
  as_of: string
}

export interface Commit {
  hash: string
  subject: string
  author: string
  email: string
  time: string
}

export interface Commits {
  of: string
  ahead: number
  behind: number
  commits: Commit[]
  next?: string
}

export interface Forecast {
  workspace_id: string
  workspace: string
  merge: 'clean' | 'possible' | 'conflict' | 'unknown'
  conflicts?: string[]
  both_change?: string[]
  unknown?: string[]
}

export interface Merged {
  dry_run: boolean
  branch: string
  into: string
  strategy: string
  before: string
  after: string
  commits: number
  fast_forward: boolean
  checkout?: string
  check?: string[]
  warnings?: string[]
}

export interface Pushed {
  dry_run: boolean
  branch: string
  remote: string
  upstream: string
  commits: number
  done: 'new' | 'updated' | 'up to date' | 'unknown'
  link?: string
  warnings?: string[]
}

export interface RepoConfig {
  file: string
  present: boolean
  hash?: string
  content?: string
  trusted: boolean
  problem?: string
}

export interface Imported {
  dry_run: boolean
  workspaces: Workspace[]
  deleted: Workspace[]
  passed: { path: string; why: string }[]
}

const of = (id: string, rest: string) => `/workspaces/${encodeURIComponent(id)}${rest}`

/** The status of one workspace as it is now. */
export const readStatus = async (id: string) =>
  (await request<Workspace & { status?: Status }>('GET', of(id, '?status=1'))).status

/** The statuses that the server knows, by workspace. */
export async function readStatuses(): Promise<Map<string, Status>> {
  const all = new Map<string, Status>()
  let cursor = ''
  do {
    const page: { workspaces: (Workspace & { status?: Status })[]; next?: string } =
      await request('GET', `/workspaces?status=1&limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    for (const w of page.workspaces) if (w.status) all.set(w.id, w.status)
    cursor = page.next ?? ''
  } while (cursor)
  return all
}

export const readDiff = (id: string, against: Against | '') =>
  request<Diff>('GET', of(id, `/diff${against && `?against=${against}`}`))

/** Git’s patch text; a very long one is cut. */
export const readPatch = (id: string, against: Against, path?: string) =>
  withAccess(async (token) =>
    textOf(await send('GET', of(id, `/diff?format=patch&against=${against}${path ? `&path=${encodeURIComponent(path)}` : ''}`), bearer({}, token))))

export const readCommits = (id: string, against: 'base' | 'upstream', side: 'ahead' | 'behind', cursor = '') =>
  request<Commits>('GET', of(id, `/commits?against=${against}&side=${side}&limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`))

export async function readConflicts(id: string): Promise<Forecast[]> {
  const all: Forecast[] = []
  let cursor = ''
  do {
    const page: { others?: Forecast[]; next?: string } =
      await request('GET', of(id, `/conflicts${cursor && `?cursor=${encodeURIComponent(cursor)}`}`))
    all.push(...(page.others ?? []))
    cursor = page.next ?? ''
  } while (cursor)
  return all
}

export const merge = (id: string, body: { into?: string; strategy?: string; message?: string; dry_run: boolean }) =>
  request<Merged>('POST', of(id, '/merge'), body)

export const push = (id: string, body: { remote?: string; dry_run: boolean }) => request<Pushed>('POST', of(id, '/push'), body)

export const retry = (id: string) => request<{ workspace: Workspace }>('POST', of(id, '/retry'), {})

export const restore = (id: string) =>
  request<{ workspace: Workspace; warnings?: string[]; sessions: number }>('POST', of(id, '/restore'))

export type Deleted = Workspace & { deleted_at?: string; not_restorable?: boolean }

/** The deleted workspaces of a machine that can be restored or have transcripts, the latest first. */
export async function listDeleted(runtime = ''): Promise<Deleted[]> {
  const all: Deleted[] = []
  let cursor = ''
  do {
    const page: { workspaces: Deleted[]; next?: string } =
      await request('GET', `${runtime && `/runtimes/${runtime}`}/workspaces?deleted=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    all.push(...page.workspaces)
    cursor = page.next ?? ''
  } while (cursor)
  return all.reverse()
}

export const readConfig = (id: string) => request<RepoConfig>('GET', of(id, '/trust'))

export const trust = (id: string, hash: string, setup: boolean) =>
  request<{ config: RepoConfig }>('POST', of(id, '/trust'), { hash, setup })

export const importWorktrees = (directory: string, dryRun: boolean) =>
  request<Imported>('POST', `/import${dryRun ? '?dry_run=1' : ''}`, { directory })

export const importSandbox = (id: string) =>
  request<{ branch?: string; commits: number; kept?: string[]; problem?: string }>('POST', of(id, '/sandbox/import'), {})

/** The screen of a session, and the hash that a text is sent by: clocks and spinners do not count. */
export async function readScreen(session: string): Promise<{ text: string; hash: string }> {
  return withAccess(async (token) => {
    const response = await send('GET', `/sessions/${session}/capture`, bearer({}, token))
    const hash = response.headers.get('Middleman-Steady') || response.headers.get('Middleman-Hash') || ''
    return { text: await textOf(response), hash }
  })
}

/** Sends a text to a session’s program, unless its screen is not the one with that hash any more. */
export const sendPrompt = (session: string, text: string, expect: string) =>
  request<{ offset: number }>('POST', `/sessions/${session}/prompt`, { text, expect })
