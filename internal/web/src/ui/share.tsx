import { useEffect, useState } from 'preact/hooks'
import type { Session } from '../api'
import { endShare, listShares, makeShare } from '../share'
import type { Share as Shared } from '../share'
import { state, toast, useStore } from '../store'
import { copy } from '../term/view'
import { visible } from '../words'
import { Dialog, Field } from './dialog'

const lives = [
  { value: '1h', text: 'one hour' }, { value: '24h', text: 'one day' }, { value: '168h', text: 'one week' }, { value: '720h', text: '30 days' },
]

/** Makes links to watch one session, lists all such links, and revokes them. */
export default function Share({ session, onClose }: { session?: Session; onClose: () => void }) {
  return session?.runtime ? <Elsewhere session={session} onClose={onClose} /> : <Links session={session} onClose={onClose} />
}

/** Says where a session of another machine is shared: a link is to a session of the server that makes it. */
function Elsewhere({ session, onClose }: { session: Session; onClose: () => void }) {
  return (
    <Dialog title={`Share ${session.workspace_name}/${session.name}`} onClose={onClose}>
      <form method="dialog">
        <p class="lead">A link leads to the server that runs the session: open middleman on {session.runtime} itself (<code>middleman open</code> there), and share it from there.</p>
        <footer><button type="button" class="quiet" autofocus onClick={onClose}>Close</button></footer>
      </form>
    </Dialog>
  )
}

function Links({ session, onClose }: { session?: Session; onClose: () => void }) {
  useStore()
  const [life, setLife] = useState('24h')
  const [link, setLink] = useState('')
  const [shares, setShares] = useState<Shared[]>()
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const fail = (problem: unknown) => setError((problem as Error).message)
  const load = () => listShares().then(setShares, fail)
  useEffect(() => void load(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (!session) return
    setBusy(true)
    setError('')
    try {
      setLink(await makeShare(session, life))
      await load()
    } catch (problem) {
      fail(problem)
    }
    setBusy(false)
  }
  const copied = async () => toast('info', (await copy(link)) ? 'Copied the link' : 'The browser did not allow this page to set the clipboard: select the link and copy it.')
  return (
    <Dialog title={session ? `Share ${session.workspace_name}/${session.name}` : 'Links to watch a session'} onClose={onClose}>
      <form onSubmit={submit}>
        {session && (
          <>
            <p class="lead">Whoever has the link sees this session’s output, past and present, until the link expires or is revoked. They cannot type, and see nothing else.
              It leads to {location.host}: they must be able to reach that.</p>
            {!link && (
              <Field label="It is valid for">
                <select name="life" value={life} onChange={(e) => setLife(e.currentTarget.value)}>{lives.map((l) => <option key={l.value} value={l.value}>{l.text}</option>)}</select>
              </Field>
            )}
            {link && (
              <Field label="The link" hint="It is shown this once.">
                <input readOnly class="mono" name="share-link" value={link} onFocus={(e) => e.currentTarget.select()} />
              </Field>
            )}
          </>
        )}
        {shares && shares.length > 0 && (
          <section>
            <h3>Links that are valid</h3>
            <ul class="logins">
              {shares.map((t) => (
                <li key={t.id}>
                  <span class="login-text">
                    <strong>{nameOf(t)}</strong>
                    <span class="hint">{t.expires_at ? `until ${day(t.expires_at)}` : 'without an end'} · {t.last_used_at ? `last used ${day(t.last_used_at)}` : 'not used yet'}</span>
                  </span>
                  <button type="button" class="quiet outlined" aria-label={`Revoke the link to ${nameOf(t)}`} onClick={() => void endShare(t.id).then(load, fail)}>Revoke</button>
                </li>
              ))}
            </ul>
          </section>
        )}
        {!session && shares?.length === 0 && <p class="lead">There is none.</p>}
        {error && <p class="problem" role="alert">{visible(error)}</p>}
        <footer>
          <button type="button" class="quiet" onClick={onClose}>Close</button>
          {session && !link && <button type="submit" class="primary" disabled={busy}>{busy ? 'Making it…' : 'Make a link'}</button>}
          {link && <button type="button" class="primary" onClick={() => void copied()}>Copy</button>}
        </footer>
      </form>
    </Dialog>
  )
}

/** The session that a link is to, by name; one that is gone goes by the name of the link. */
function nameOf(t: Shared): string {
  const s = t.session ? state.sessions.get(t.session) : undefined
  return visible(s ? `${s.workspace_name}/${s.name}` : t.name)
}

function day(time: string): string {
  return new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
}
