// What the user writes to the programs of sessions, and has written. It lives as
// long as the page: a text may be secret, so nothing of it is stored.

import { changed } from './store'

interface Draft {
  open: boolean
  text: string
  /** What was sent, the oldest first. */
  sent: string[]
}

const drafts = new Map<string, Draft>() // by session
const keptTexts = 100

export function draftOf(session: string): Draft {
  const draft = drafts.get(session) ?? { open: false, text: '', sent: [] }
  drafts.set(session, draft)
  return draft
}

export const isComposing = (session: string) => drafts.get(session)?.open ?? false

/** Opens the text box of a session, or closes it; the text stays. */
export function compose(session: string, open = !isComposing(session)): void {
  draftOf(session).open = open
  changed()
}

export function rememberSent(session: string, text: string): void {
  const draft = draftOf(session)
  draft.sent = [...draft.sent.filter((t) => t !== text), text].slice(-keptTexts)
  draft.text = ''
}
