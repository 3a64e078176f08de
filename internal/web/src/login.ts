// Logging in, as the page does it: by the link that it was opened with, or by
// one that is pasted.

import * as auth from './auth'
import { follow } from './events'
import { Problem } from './http'
import { refuse, setLink } from './store'

/** Begins the page, with the secret of the link that it was opened with. */
export async function start(secret?: string): Promise<void> {
  // A link that is followed in a page that is open changes its fragment alone.
  window.addEventListener('hashchange', () => {
    const another = auth.takeSecret()
    if (another) void start(another)
  })
  if (!window.isSecureContext) return setLink('login')
  if (secret) await useLink(secret)
  follow()
}

/** Logs in by a link; where that fails, a login from before goes on. */
async function useLink(secret: string): Promise<void> {
  try {
    await auth.logIn(secret)
  } catch (error) {
    refuse(error instanceof Problem ? error.message : String(error))
  }
}

/** Logs in by a link that was pasted, or by the code at its end. */
export async function paste(text: string): Promise<void> {
  const secret = auth.parseSecret(text)
  if (!secret) throw new Error('That is not a login link: one ends in #login= and 26 letters and digits.')
  await auth.logIn(secret)
  setLink('connecting')
  follow()
}

