// This browser's login: a key that the origin holds and that no script can
// export, and the access tokens that signing with it gets. Cookies would go to
// every port of this host, so also to servers of others.
//
// Whoever takes the server's port while it is away runs at this origin too. An
// open page finds out, because the server proves who it is before anything is
// sent to it.

import { Problem, json, send, textOf } from './http'

interface Login {
  id: string
  instance: string
  key: CryptoKey // private
  serverKey: CryptoKey // the server's, public
}

const curve = { name: 'ECDSA', namedCurve: 'P-256' }
const ecdsa = { name: 'ECDSA', hash: 'SHA-256' }

// Told of by the other windows of this browser: the login is another one now.
const channel = new BroadcastChannel('middleman.login')

/** Calls f when another window has logged in or out. */
export function onOtherWindow(f: () => void): void {
  channel.onmessage = () => {
    granted = undefined
    f()
  }
}

/** Takes a login link's secret out of the address, where it must not stay. */
export function takeSecret(): string | undefined {
  if (!location.hash.startsWith('#login=')) return undefined
  const secret = parseSecret(location.hash)
  history.replaceState(history.state, '', location.pathname + location.search)
  return secret
}

/** Finds the secret in a link, or in what was copied or typed of it. */
export function parseSecret(text: string): string | undefined {
  return text.replace(/[\s-]/g, '').toUpperCase().match(/(?:^|[=#])([A-Z2-7]{26})$/)?.[1]
}

/** Trades a link's secret for a login, which replaces the one before. */
export async function logIn(secret: string): Promise<void> {
  const before = await load()
  const pair = await crypto.subtle.generateKey(curve, false, ['sign', 'verify'])
  const key = encode(await crypto.subtle.exportKey('raw', pair.publicKey))
  const answer = await post<{ id: string; instance: string; server_key: string }>('/login', { token: secret, key, name: browserName() })
  const serverKey = await crypto.subtle.importKey('raw', decode(answer.server_key), curve, true, ['verify'])
  login = { id: answer.id, instance: answer.instance, key: pair.privateKey, serverKey }
  granted = undefined
  await save(login)
  channel.postMessage('login')
  if (before) await withAccess((token) => send('DELETE', `/logins/${before.id}?keep_tokens=true`, bearer({}, token))).catch(() => {}) // it expires by itself
}

/** Forgets the login here; the server's part is its own matter. */
export async function forget(): Promise<void> {
  login = granted = undefined
  await save(undefined)
  channel.postMessage('logout')
  void navigator.serviceWorker?.getRegistration().then((r) => r?.unregister()) // with its push subscription
}

let login: Login | undefined // where the database is refused: as long as the page
let granted: { token: string; until: number } | undefined
let asking: Promise<string> | undefined

let guest: string | undefined

/** From now on this page has the token of a shared link, and no login. */
export function beGuest(token: string): void {
  guest = token
}

export const isGuest = () => guest !== undefined

/** Does something with an access token, with another one if it was refused. */
export async function withAccess<T>(f: (token: string) => Promise<T>): Promise<T> {
  const token = await access()
  try {
    return await f(token)
  } catch (problem) {
    const status = problem instanceof Problem ? problem.status : undefined
    if (granted?.token === token && (status === 401 || status === 0)) granted = undefined
    if (status !== 401) throw problem
    return f(await access())
  }
}

/** Somebody types: the login is in use, though nothing is asked of the API for days. */
export function used(): void {
  if (granted && Date.now() >= granted.until) access().catch(() => {}) // what is open tells what became of the server
}

/** A connection has ended: before anything else is sent, the server proves again who it is. */
export function doubt(): void {
  granted = undefined
}

export const bearer = (how: RequestInit, token: string): RequestInit => ({
  ...how, headers: { ...how.headers, Authorization: `Bearer ${token}` },
})

async function access(): Promise<string> {
  if (guest !== undefined) return guest
  if (granted && Date.now() < granted.until) return granted.token
  asking ??= ask().finally(() => { asking = undefined })
  return asking
}

async function ask(): Promise<string> {
  const me = (await load()) ?? login
  if (!me) throw new Problem(401, { code: 'unauthorized', detail: 'This browser is not logged in at this address.' })
  const mine = encode(crypto.getRandomValues(new Uint8Array(16)).buffer)
  const { nonce, signature } = await post<{ nonce: string; signature: string }>('/login/challenge', { login: me.id, nonce: mine })
  const proof = text('middleman server v1', me.instance, location.origin, me.id, nonce, mine)
  if (!(await crypto.subtle.verify(ecdsa, me.serverKey, decode(signature), proof))) throw impostor()
  const signed = await crypto.subtle.sign(ecdsa, me.key, text('middleman login v1', me.instance, location.origin, me.id, nonce))
  const answer = await post<{ token: string; expires_in: number }>('/login/access', { login: me.id, nonce, signature: encode(signed) })
  // A minute of margin, for clocks and for what is on its way.
  granted = { token: answer.token, until: Date.now() + (answer.expires_in - 60) * 1000 }
  return answer.token
}

const impostor = () => new Problem(0, {
  code: 'impostor', detail: 'Another program answers at this address. Nothing was sent to it.',
})

async function post<T>(path: string, body: unknown): Promise<T> {
  return JSON.parse(await textOf(await send('POST', path, json(body)))) as T
}

const text = (...lines: string[]) => new TextEncoder().encode(lines.join('\n'))
export const encode = (bytes: ArrayBuffer) => btoa(String.fromCharCode(...new Uint8Array(bytes)))

export function decode(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
  } catch {
    throw impostor() // the server sends nothing else
  }
}

function browserName(): string {
  const find = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(navigator.userAgent))?.[1]
  const browser = find([[/Firefox\//, 'Firefox'], [/Edg\//, 'Edge'], [/OPR\//, 'Opera'], [/Chrom(e|ium)\//, 'Chromium'], [/Safari\//, 'Safari']])
  const system = find([[/Android/, 'Android'], [/iPhone|iPad/, 'iOS'], [/Windows/, 'Windows'], [/Mac OS/, 'macOS'], [/Linux/, 'Linux']])
  return [browser ?? 'A browser', system && `on ${system}`].filter(Boolean).join(' ')
}

// The database holds one record. A key in it can be used at this origin, and
// read by nobody.

function request<T>(mode: IDBTransactionMode, f: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open('middleman', 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore('login')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const transaction = opening.result.transaction('login', mode)
      const asked = f(transaction.objectStore('login'))
      transaction.oncomplete = () => { opening.result.close(); resolve(asked.result) }
      transaction.onabort = transaction.onerror = () => { opening.result.close(); reject(transaction.error) }
    }
  })
}

async function load(): Promise<Login | undefined> {
  return request<Login | undefined>('readonly', (store) => store.get('this')).catch(() => undefined)
}

async function save(login: Login | undefined): Promise<void> {
  // Where storage is refused, the login lasts as long as the page.
  await request('readwrite', (store) => (login ? store.put(login, 'this') : store.delete('this')) as IDBRequest).catch(() => {})
}
