// A link that lets somebody watch one session: its token is of that session
// alone, and the page sees nothing else.

import { request } from './api'
import type { Session } from './api'
import { beGuest } from './auth'

export interface Share {
  id: string
  name: string
  scope: string
  session?: string
  created_at: string
  expires_at?: string
  last_used_at?: string
}

const kept = 'middleman.share' // in the tab alone, so that a reload goes on

/** The session of the link that the page was opened with, if that is one to watch a session. */
export function takeShare(): string | undefined {
  const [, first, session] = location.pathname.split('/')
  if (first !== 'watch' || !session) return undefined
  const given = location.hash.match(/^#share=([\w-]+)$/)?.[1]
  if (given) history.replaceState(history.state, '', location.pathname)
  let secret = given
  try {
    if (given) sessionStorage.setItem(`${kept}.${session}`, given)
    else secret = sessionStorage.getItem(`${kept}.${session}`) ?? undefined
  } catch {
    // Storage is refused: the link works until the page is reloaded.
  }
  beGuest(secret ?? '')
  return session
}

export const listShares = async () =>
  (await request<{ tokens: Share[] }>('GET', '/tokens')).tokens.filter((t) => t.scope === 'session')

/** Makes a link; its secret is told once. */
export async function makeShare(session: Session, life: string): Promise<string> {
  const about = `${session.workspace_name}-${session.name}`.replace(/[^\w.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '').slice(0, 48)
  const mark = crypto.getRandomValues(new Uint32Array(1))[0].toString(36).slice(0, 5)
  const made = await request<{ secret: string }>('POST', '/tokens', { name: `share-${about}-${mark}`, scope: 'session', session: session.id, life })
  return `${location.origin}/watch/${session.id}#share=${made.secret}`
}

export const endShare = (id: string) => request<unknown>('DELETE', `/tokens/${id}`)

export const getSession = (id: string) => request<Session>('GET', `/sessions/${id}`)
