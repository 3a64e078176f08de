// Web Push: the server tells this browser through its push service, also while no
// page is open. The subscription belongs to the login.

import { getPush, setPush, stopPush } from './api'
import { decode, encode } from './auth'
import { prefs, setPrefs } from './prefs'
import { workerAddress } from './trusted'

export const canPush = () => 'serviceWorker' in navigator && 'PushManager' in window

/** Subscribes this browser, or changes what it is sent. Call it from a click: the browser asks the user. */
export async function subscribe(content: boolean): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted') throw new Error('The browser does not allow this page to notify you.')
  await renew(content)
  setPrefs({ push: true, pushContent: content })
}

export async function unsubscribe(): Promise<void> {
  setPrefs({ push: false })
  await stopPush()
  const registration = await navigator.serviceWorker.getRegistration()
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}

/** Makes the browser's subscription and the server's the same: either may have lost or changed its part. */
export async function renew(content = prefs.pushContent): Promise<void> {
  await navigator.serviceWorker.register(workerAddress, { scope: '/' })
  const { pushManager } = await navigator.serviceWorker.ready
  const known = await getPush()
  let mine = await pushManager.getSubscription()
  const usedKey = mine?.options.applicationServerKey
  if (mine && usedKey && encode(usedKey) !== known.server_key) {
    await mine.unsubscribe() // it is another server's
    mine = null
  }
  mine ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: decode(known.server_key) })
  if (known.endpoint === mine.endpoint && known.content === content) return
  await setPush({ endpoint: mine.endpoint, key: encode(mine.getKey('p256dh')!), auth: encode(mine.getKey('auth')!), content })
}
