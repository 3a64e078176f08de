// Comments on lines of a diff, kept in this browser until they are sent as one
// message to an agent.

import { visible, visibleLines } from '../words'
import type { Line } from './patch'

export interface Comment {
  path: string
  /** The line's number, on the side that it is on: "old" is what was removed. */
  side: 'old' | 'new'
  line: number
  /** The line that it is about, as it was. */
  code: string
  text: string
}

const key = (workspace: string) => `middleman.comments.${workspace}`

/** The comments on a workspace's diff, in the order of its files and lines. */
export function loadComments(workspace: string): Comment[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(key(workspace)) ?? '[]')
    return Array.isArray(list) ? (list as Comment[]).filter((c) => typeof c?.text === 'string' && typeof c.path === 'string') : []
  } catch {
    return [] // storage is refused or holds something else
  }
}

export function saveComments(workspace: string, comments: Comment[]): void {
  try {
    if (comments.length > 0) localStorage.setItem(key(workspace), JSON.stringify(comments))
    else localStorage.removeItem(key(workspace))
  } catch {
    // Storage is refused: they last as long as the page.
  }
}

export const sideOf = (line: Line) => (line.type === '-' ? 'old' : 'new')
export const numberOf = (line: Line) => (line.type === '-' ? line.old : line.new)
export const isOn = (c: Comment, path: string, line: Line) => c.path === path && c.side === sideOf(line) && c.line === numberOf(line)

/** All comments as one message. Nothing in it is a control character, so that it can be sent. */
export function messageOf(comments: Comment[], against: string): string {
  const parts = comments.map((c) => {
    const where = `${visible(c.path)}:${c.line}${c.side === 'old' ? ' (removed)' : ''}`
    const code = visible(c.code.trim()).slice(0, 200)
    return `${where}\n${code ? `> ${code}\n` : ''}${visibleLines(c.text.trim())}`
  })
  const head = comments.length === 1 ? 'A comment on your changes' : `${comments.length} comments on your changes`
  return `${head} (compared with ${visible(against)}):\n\n${parts.join('\n\n')}`
}
