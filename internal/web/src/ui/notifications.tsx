import { useEffect, useState } from 'preact/hooks'
import { getPush } from '../api'
import { notifies, setNotify } from '../notify'
import { prefs } from '../prefs'
import { canPush, subscribe, unsubscribe } from '../push'
import { visible } from '../words'
import { Dialog } from './dialog'

/** How this browser tells the user what agents need. */
export default function Notifications({ onClose }: { onClose: () => void }) {
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const act = (work: Promise<void>) => {
    setBusy(true)
    setError('')
    work.catch((problem: unknown) => setError((problem as Error).message)).finally(() => setBusy(false))
  }
  useEffect(() => {
    if (prefs.push) getPush().then(({ problem }) => problem && setError(`The last one did not arrive: ${visible(problem)}`), (e: unknown) => setError((e as Error).message))
  }, [])
  return (
    <Dialog title="Notifications" onClose={onClose}>
      <div class="switches">
        <p class="lead">Of sessions that need you, are done or have failed, while you do not look at them.</p>
        <Switch label="While a page is open" hint="The browser shows it." on={notifies()} disabled={busy} set={(on) => act(setNotify(on))} />
        {canPush() && (
          <>
            <Switch label="Also while none is" hint="By Web Push, until this browser is logged out. The push service of the browser’s maker sees when something is sent, and not what."
              on={prefs.push} disabled={busy} set={(on) => act(on ? subscribe(prefs.pushContent) : unsubscribe())} />
            <Switch label="With names and reasons" hint="Else it says only what kind of news there is. A lock screen may show it to anybody."
              on={prefs.pushContent} disabled={busy || !prefs.push} set={(on) => act(subscribe(on))} />
          </>
        )}
        {error && <p class="problem" role="alert">{error}</p>}
      </div>
    </Dialog>
  )
}

interface SwitchProps {
  label: string
  hint: string
  on: boolean
  disabled: boolean
  set: (on: boolean) => void
}

function Switch({ label, hint, on, disabled, set }: SwitchProps) {
  return (
    <label class="consent">
      <input type="checkbox" role="switch" checked={on} disabled={disabled} aria-label={label}
        onChange={(e) => { e.currentTarget.checked = on; set(!on) }} />
      <span class="login-text"><strong>{label}</strong><span class="hint">{hint}</span></span>
    </label>
  )
}
