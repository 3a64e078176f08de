import { useState } from 'preact/hooks'
import * as api from '../api'
import { follow } from '../events'
import { paste } from '../login'
import { report, useStore } from '../store'
import { Field } from './dialog'
import { Logo } from './icons'

/** What is shown where this browser has no login for this address. */
export function Login() {
  if (!window.isSecureContext) return <Unencrypted />
  return (
    <div class="empty whole">
      <Logo />
      <h2>Log in with a link</h2>
      <p>This page shows and drives the terminals of one user of the machine that runs the server, so it asks every browser
        for a login. This browser has no login for <b>{location.host}</b>. On that machine, this command opens a page that is
        logged in, and prints its link:</p>
      <pre class="command">middleman open</pre>
      <Code />
      <p class="hint">For a phone, run it there too and open or type the link here. Once you are logged in in another tab, this one goes
        on by itself. Each link works once, for ten minutes. A forwarded port is another address, which needs a login of
        its own. After a restart of the machine the server has a new address.</p>
    </div>
  )
}

/** Takes a link where it cannot be followed, such as on a phone or through a tunnel. */
function Code() {
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState(useStore().refused)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError('')
    try {
      await paste(text)
    } catch (problem) {
      setError((problem as Error).message)
    }
    setBusy(false)
  }
  return (
    <form class="code" onSubmit={submit}>
      <Field label="Link, or the code at its end">
        <input name="link" class="mono" autofocus value={text} placeholder="http://….localhost:8091/#login=…" autocomplete="off"
          autocapitalize="characters" spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} />
      </Field>
      {error && <p class="problem" role="alert">{error}</p>}
      <footer>
        <button type="button" class="quiet outlined" onClick={follow}>Try again</button>
        <button type="submit" class="primary" disabled={busy || !text.trim()}>{busy ? 'Logging in…' : 'Log in'}</button>
      </footer>
    </form>
  )
}

function Unencrypted() {
  return (
    <div class="empty whole">
      <Logo />
      <h2>This address is not encrypted</h2>
      <p>Browsers keep no key for <b>{location.origin}</b>, and anybody on the way could read and type. Use
        the server’s https address, or a tunnel to 127.0.0.1.</p>
    </div>
  )
}

/** What is shown where something answers that cannot prove to be our server. */
export function Impostor() {
  return (
    <div class="empty whole" role="alert">
      <Logo />
      <h2>Another program answers here</h2>
      <p>The program that answers at <b>{location.host}</b> cannot prove that it is the server that this browser logged in to.
        Nothing was sent to it. Close this page, do not reload it, and log in with the link that this command prints:</p>
      <pre class="command">middleman open</pre>
      <p class="hint">Sessions do not need the server, but whether they run is not known until it answers. If it comes back to this address, this page continues.</p>
    </div>
  )
}

export function logOut(): void {
  api.logout().then(() => location.assign('/'), report)
}
