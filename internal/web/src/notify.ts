// Tells the user what happens where they do not look: by a notification of the
// system where they have allowed that, else by a toast.

import type { NoticeItem, Session } from './api'
import { whenLive } from './events'
import { go, place } from './nav'
import { onPrefs, prefs, setPrefs } from './prefs'
import { changed, dismissToast, shownSession, state, toast } from './store'
import { agentWords, exitWords, visible } from './words'

/** Whether this window is the one that tells. A browser's windows share one lock. */
let tells = false

const supported = () => 'Notification' in window && 'locks' in navigator

export const canNotify = () => supported() && Notification.permission !== 'denied'
export const notifies = () => prefs.notify && supported() && Notification.permission === 'granted'

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

/** Tells what the server says that agents need or have done. A service worker tells it where no page of ours has the focus. */
export function tellNotice(items: NoticeItem[]): void {
  if (prefs.push && !document.hasFocus()) return
  for (const item of items) {
    const s = state.sessions.get(item.session)
    if (s) say(s, (s.exit || s.state === 'lost' ? endOf(s) : agentWords(s)) || capital(item.kind))
  }
}

/** Tells of a change of a session. */
export function tell(before: Session | undefined, now: Session): void {
  const words = before && newsOf(before, now)
  if (words) say(now, words)
}

const longest = 300

/** Tells what the session's program asked to be told. */
export function tellText(s: Session, text: string): void {
  const words = visible(text.slice(0, longest))
  if (words) say(s, words)
}

/** What is worth telling of a change, or ''. Of what agents do the server tells, by notices. */
function newsOf(before: Session, now: Session): string {
  if (now.agent && now.agent.state !== 'unknown' && now.state !== 'unreachable') return ''
  const [was, is] = [before.attention.group, now.attention.group]
  if (is === 'ended') return was === 'ended' ? '' : endOf(now)
  return is === 'needs-you' && was !== 'needs-you' ? capital(visible(now.attention.state)) : ''
}

/** An end is news, unless it is what a stop asks for. */
function endOf(s: Session): string {
  if (s.state === 'lost') return 'Lost: its owner died without an exit record'
  if (!s.exit || s.exit.stopped || ['SIGHUP', 'SIGTERM', 'SIGINT'].includes(s.exit.signal_name ?? '')) return ''
  return exitWords(s.exit)
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

function say(s: Session, words: string): void {
  if (looksAt(s)) return
  const to = { workspace: s.workspace_name, session: s.name }
  const name = `${s.workspace_name}/${s.name}`
  const byToast = () => toast('news', `${name}: ${words}`, { label: 'Show', run: () => go(to) }, s.id)
  if (!notifies()) return byToast()
  if (!tells) return
  try {
    const shown = new Notification(name, { body: words, tag: s.id })
    shown.onclick = () => {
      window.focus()
      go(to)
      shown.close()
    }
  } catch {
    byToast() // phones allow it to service workers alone
  }
}

function looksAt(s: Session): boolean {
  const at = place()
  return document.visibilityState === 'visible' && document.hasFocus() && !at.page && at.workspace === s.workspace_name &&
    shownSession(s.workspace_id, at.session)?.id === s.id
}

/** Takes toasts away of the session that the user looks at by now. */
export function dismissSeen(): void {
  for (const t of state.toasts) {
    const s = t.session && state.sessions.get(t.session)
    if (s && looksAt(s)) dismissToast(t.id)
  }
}

window.addEventListener('focus', changed)

/** Goes to the sessions whose notifications are clicked, and keeps this browser subscribed. */
export function takeClicks(): void {
  const wanted = location.hash.match(/^#session=([\w:-]+)$/)?.[1]
  if (wanted) history.replaceState(history.state, '', location.pathname + location.search)
  navigator.serviceWorker?.addEventListener('message', (event) => openSession((event.data as { session?: string }).session))
  let first = true
  whenLive(() => {
    if (first) openSession(wanted)
    first = false
    if (prefs.push) void import('./push').then((push) => push.renew()).catch(() => {}) // the dialog tells why
  })
}

function openSession(id = ''): void {
  const s = state.sessions.get(id)
  if (s) go({ workspace: s.workspace_name, session: s.name })
}
