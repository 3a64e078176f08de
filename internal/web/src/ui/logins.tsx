import { useEffect, useState } from 'preact/hooks'
import * as api from '../api'
import type { Login } from '../api'
import { Dialog } from './dialog'
import { logOut } from './login'

/** Lists the browsers that are logged in, and logs them out. */
export function Logins({ onClose }: { onClose: () => void }) {
  const [logins, setLogins] = useState<Login[]>()
  const [error, setError] = useState('')
  const fail = (problem: unknown) => setError((problem as Error).message)
  const load = () => api.listLogins().then(setLogins, fail)
  useEffect(() => void load(), [])
  const end = (login: Login) => (login.current ? logOut() : void api.deleteLogin(login.id).then(load, fail))
  const endAll = () => api.deleteLogins().then(() => location.assign('/'), fail)
  return (
    <Dialog title="Logins" onClose={onClose}>
      <form method="dialog">
        <p class="lead">Browsers that are logged in. Logging out another one, or all, also closes their
          connections and ends the tokens and links that they made.</p>
        <ul class="logins">
          {logins?.map((login) => (
            <li key={login.id}>
              <span class="login-text">
                <strong>{login.name || 'A browser'}{login.current && ' (this one)'}</strong>
                <span class="hint">{login.origin} · last used {day(login.last_used_at)} · until {day(login.expires_at)}</span>
              </span>
              <button type="button" class="quiet outlined" onClick={() => end(login)}
                aria-label={`Log out ${login.current ? 'this browser' : login.name}`}>Log out</button>
            </li>
          ))}
        </ul>
        {error && <p class="problem" role="alert">{error}</p>}
        <footer>
          <button type="button" class="quiet" autofocus onClick={onClose}>Close</button>
          <button type="button" class="danger" onClick={endAll}>Log out everywhere</button>
        </footer>
      </form>
    </Dialog>
  )
}

function day(time: string): string {
  return new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
}
