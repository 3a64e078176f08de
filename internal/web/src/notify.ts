// Tells by a notification of the desktop that an agent waits for the user, or
// that it is done with its turn, unless the user looks at it.

import type { Session } from './api'
import { go, place } from './nav'
import { onPrefs, prefs, setPrefs } from './prefs'
import { agentWords } from './words'

/** Whether this window is the one that tells. A browser's windows share one lock. */
let tells = false

const supported = () => 'Notification' in window && 'locks' in navigator

export const canNotify = () => supported() && Notification.permission !== 'denied'
export const notifies = () => prefs.notify && supported() && Notification.permission === 'granted'

/** Whether this window must go on following events while it is hidden. */
export const followsHidden = () => notifies() && tells

/** Switches notifications on or off. Call it from a click: the browser asks the user. */
export async function setNotify(on: boolean): Promise<void> {
  if (on && (await Notification.requestPermission()) !== 'granted') on = false
  setPrefs({ notify: on })
}

let asked = false

function askToTell(): void {
  if (asked || !notifies()) return
  asked = true
  void navigator.locks.request('middleman.notify', () => {
    tells = true
    return new Promise(() => {}) // held until the window closes
  })
}

askToTell()
onPrefs(askToTell)

/** Tells of a change of a session's agent. */
export function tell(before: Session | undefined, now: Session): void {
  const was = before?.agent?.state
  const is = now.state === 'running' ? now.agent?.state : undefined
  if (!before || was === is || !(is === 'waiting' || (is === 'idle' && was === 'working'))) return
  if (!notifies() || !tells || looksAt(now)) return
  const shown = new Notification(`${now.workspace_name}/${now.name}`, { body: agentWords(now), tag: now.id })
  shown.onclick = () => {
    window.focus()
    go({ workspace: now.workspace_name, session: now.name })
    shown.close()
  }
}

function looksAt(s: Session): boolean {
  const at = place()
  return document.visibilityState === 'visible' && document.hasFocus() && at.workspace === s.workspace_name && (!at.session || at.session === s.name)
}
