// The statuses of workspaces: how many files are changed, and how far they are
// from their base and their upstream. They are read while somebody looks at the
// page: the shown workspace every few seconds, the others now and then.

import { useEffect, useReducer } from 'preact/hooks'
import { Problem } from '../http'
import { state } from '../store'
import type { Workspace } from '../api'
import { readStatus, readStatuses } from './api'
import type { Status } from './api'

const statuses = new Map<string, Status>()
const listeners = new Set<(workspace: string, first: boolean) => void>()

const shownEvery = 5_000
const othersEvery = 60_000

let shown: string | undefined
let last = 0 // when all were read
let timer: number | undefined
let reading = false

/** Follows the status of the workspace that is shown, or of none. */
export function showStatusOf(workspace: string | undefined): void {
  shown = workspace
  void read()
}

document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && void read())

async function read(): Promise<void> {
  window.clearTimeout(timer)
  if (reading || document.visibilityState !== 'visible') return
  reading = true
  try {
    if (state.link === 'live') await readNow()
  } catch (error) {
    if (!(error instanceof Problem)) throw error // no status is none that we show: the page says elsewhere that the server is away
  } finally {
    reading = false
    timer = window.setTimeout(() => void read(), shownEvery)
  }
}

async function readNow(): Promise<void> {
  const workspace = shown
  if (Date.now() - last > othersEvery) {
    const all = await readStatuses()
    last = Date.now()
    for (const [id, status] of all) put(id, status)
    return
  }
  const known = workspace && state.workspaces.get(workspace)
  if (!known || known.state !== 'ready') return
  if (known.runtime && !state.runtimes.get(known.runtime)?.current) return // its machine does not answer
  const status = await readStatus(workspace)
  if (status) put(workspace, status)
}

function put(workspace: string, status: Status): void {
  const before = statuses.get(workspace)
  statuses.set(workspace, status)
  if (!before || !same(before, status)) for (const listener of listeners) listener(workspace, !before)
}

const same = (a: Status, b: Status) => told(a) === told(b)
const told = ({ branch, head, operation, files, upstream, base, unknown, warnings }: Status) =>
  JSON.stringify([branch, head, operation, files, upstream, base, unknown, warnings])

/** Calls f when another status than before is known of a workspace, or the first one; returns how to stop that. */
export function whenStatus(workspace: string, f: (first: boolean) => void): () => void {
  const listener = (id: string, first: boolean) => { if (id === workspace) f(first) }
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function useStatus(workspace: string): Status | undefined {
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  useEffect(() => whenStatus(workspace, () => redraw(undefined as never)), [workspace])
  return statuses.get(workspace)
}

/**
 * The branch that a workspace has checked out, as `middleman ls` tells it: a program
 * may have switched. It is the one that the workspace was made with while that is not
 * known, or while an operation such as a rebase has detached HEAD.
 */
export function branchOf(w: Workspace): string | undefined {
  const s = statuses.get(w.id)
  if (!w.branch || !s?.head || (!s.branch && s.operation)) return w.branch
  return s.branch || `detached ${s.head.slice(0, 12)}`
}

export function useBranch(w: Workspace): string | undefined {
  useStatus(w.id)
  return branchOf(w)
}

/** A status in short, with the signs that `middleman ls` has no room for either. */
export function statusSigns(s: Status): { sign: string; words: string; tone?: string }[] {
  const all: { sign: string; words: string; tone?: string }[] = []
  const count = (n: number | undefined, sign: string, words: string, tone?: string) => { if (n) all.push({ sign: `${sign}${n}`, words: `${n} ${words}`, tone }) }
  count(s.files?.conflicted, '!', 'in conflict', 'bad')
  count(s.files?.staged, '●', 'staged')
  count(s.files?.changed, '±', 'changed')
  count(s.files?.untracked, '?', 'untracked')
  count(s.base?.ahead, '↑', `ahead of ${s.base?.of}`)
  count(s.base?.behind, '↓', `behind ${s.base?.of}`)
  if (s.upstream) {
    count(s.upstream.ahead, '⇡', `to push to ${s.upstream.of}`)
    count(s.upstream.behind, '⇣', `to pull from ${s.upstream.of}`)
  }
  return all
}

/** The same in words, one line each. */
export function statusWords(s: Status): string {
  const lines = statusSigns(s).map((part) => part.words)
  if (s.operation) lines.unshift(`A ${s.operation} is in progress`)
  if (lines.length === 0 && s.files) lines.push('No changes')
  return [...lines, ...(s.warnings ?? []), ...(s.unknown ?? []).map((u) => `Not known: ${u}`)].join('\n')
}
