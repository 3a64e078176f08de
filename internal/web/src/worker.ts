// The service worker: shows what the server pushes, and opens a session on a click.
// It answers no fetch, so it is no part of how the page is loaded.

interface Client {
  readonly focused: boolean
  focus(): Promise<unknown>
  postMessage(message: unknown): void
}

interface Event {
  waitUntil(work: Promise<unknown>): void
  readonly data?: { text(): string } | null
  readonly notification: Notification
}

interface Worker {
  readonly registration: ServiceWorkerRegistration
  readonly clients: { matchAll(of: object): Promise<Client[]>; openWindow(path: string): Promise<unknown> }
  skipWaiting(): Promise<void>
  addEventListener(type: string, listener: (event: Event) => void): void
}

interface Item {
  kind: string
  session: string
  /** Unset where the user does not want names and reasons sent. */
  name?: string
  reason?: string
}

const worker = self as unknown as Worker
const title = 'middleman'

worker.addEventListener('install', () => void worker.skipWaiting())
worker.addEventListener('push', (event) => event.waitUntil(tell(event.data?.text() ?? '')))
worker.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open(event.notification.data as string | undefined))
})
worker.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(
  worker.registration.showNotification(title, { body: 'Open middleman once, to be notified again.', tag: 'renew' }), // the page has the login
))

const pages = () => worker.clients.matchAll({ type: 'window', includeUncontrolled: true })

/** A page that has the focus tells by itself. */
async function tell(text: string): Promise<void> {
  if ((await pages()).some((page) => page.focused)) return
  const { items, more } = read(text)
  const [one] = items
  const alone = items.length === 1 && more === 0
  const name = alone && one.name
  await worker.registration.showNotification(name || title, {
    body: name ? sentence('It', one) : [...items.map((item) => sentence(item.name ?? 'A session', item)), more > 0 ? `and ${more} more` : ''].filter(Boolean).join('\n'),
    tag: alone ? one.session : 'several', data: alone ? one.session : undefined, icon: '/icon.svg',
  })
}

function read(text: string): { items: Item[]; more: number } {
  try {
    const { items, more = 0 } = JSON.parse(text) as { items: Item[]; more?: number }
    if (items.length > 0) return { items, more }
  } catch {
    // A push service may drop the message of a push.
  }
  return { items: [{ kind: '', session: '' }], more: 0 }
}

const verbs: Record<string, string> = { 'needs-input': 'needs you', done: 'is done', failed: 'has failed' }

const sentence = (who: string, { kind, reason }: Item) => `${who} ${verbs[kind] ?? 'has news'}${reason ? `: ${reason}` : ''}`

async function open(session?: string): Promise<void> {
  const [page] = await pages()
  if (!page) return void (await worker.clients.openWindow(session ? `/#session=${session}` : '/'))
  page.postMessage({ session })
  await page.focus()
}

export {} // a module, so that its names are its own
