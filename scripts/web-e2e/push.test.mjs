// Web Push: the server's message is checked and decrypted by a push service of this
// test, and goes to the real service worker.
//
// Simulated is what lies between the browser and its maker's push service, because a
// headless Chromium has none: the page's pushManager gives a subscription with keys of
// this test, and messages are delivered by the debugging protocol, which takes them
// decrypted. A click is an event that the test makes; without a hand on a mouse the
// worker may open no window, so what it would open is recorded.

import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { becomes, complaints, launch, palette, patience, phase, shot, watch } from './browser.mjs'
import { desktop, fakeAgent, findings, phone } from './pages.mjs'
import { Server } from './server.mjs'

const server = new Server('[notify]\npush_private = true\n')
const agent = join(server.root, 'claude')
const keys = crypto.createECDH('prime256v1')
keys.generateKeys()
const secret = crypto.randomBytes(16)

let answer = 201
const service = http.createServer(async (request, response) => {
  const parts = []
  try {
    for await (const part of request) parts.push(part)
  } catch {
    return // the server has given it up, and sends it again
  }
  response.writeHead(answer).end()
  service.emit('pushed', request, Buffer.concat(parts))
})

let browser
let context
let page
let devtools
let registration
let session

before(async () => {
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  await server.start()
  browser = await launch()
  context = await browser.newContext(desktop)
  await context.grantPermissions(['notifications'], { origin: `http://${server.address}` })
  await context.addInitScript(simulate, {
    endpoint: `http://127.0.0.1:${service.address().port}/this-browser`, p256dh: [...keys.getPublicKey()], auth: [...secret],
  })
  page = watch(await context.newPage())
  devtools = await context.newCDPSession(page)
  devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => { registration = registrations.find((r) => !r.isDeleted)?.registrationId })
  await devtools.send('ServiceWorker.enable')
  writeFileSync(agent, fakeAgent, { mode: 0o700 })
  const made = JSON.parse(server.middleman('new', 'fix-login', '-d', '--json', '--', agent))
  session = made.sessions?.[0]?.id ?? JSON.parse(server.middleman('ls', '--sessions', '--json')).sessions[0].id
  await page.goto(server.newLink())
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
})

after(async () => {
  await browser?.close()
  service.close()
  await server.cleanUp()
})

/** A push service's part of a browser, which lasts as long as the page's storage. */
function simulate({ endpoint, p256dh, auth }) {
  const kept = () => localStorage.getItem('simulated')
  const make = () => kept() && {
    endpoint,
    options: { userVisibleOnly: true, applicationServerKey: Uint8Array.from(JSON.parse(kept())).buffer },
    getKey: (name) => Uint8Array.from({ p256dh, auth }[name]).buffer,
    unsubscribe: async () => { localStorage.removeItem('simulated'); return true },
  }
  if (!('PushManager' in window)) return
  PushManager.prototype.getSubscription = async () => make() || null
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly) throw new Error('it would be silent')
    localStorage.setItem('simulated', JSON.stringify([...new Uint8Array(applicationServerKey.buffer ?? applicationServerKey)]))
    return make()
  }
}

const url = (rest = '/') => `http://${server.address}${rest}`
const control = (name) => page.getByRole('switch', { name })
const worker = () => context.serviceWorkers()[0]
const shown = () => worker().evaluate(async () => (await self.registration.getNotifications()).map(({ title, body, data }) => ({ title, body, data })))

async function openSettings() {
  await page.getByRole('button', { name: /^Notifications: / }).click()
  await page.getByRole('dialog', { name: 'Notifications' }).waitFor()
}

/** A switch stands for what is so, hence only once it is. */
async function turnOn(name) {
  await control(name).click()
  await page.waitForFunction((label) => {
    const box = document.querySelector(`[role=switch][aria-label="${label}"]`)
    return document.querySelector('dialog [role=alert]') || box.checked && !box.disabled
  }, name)
  assert.deepEqual(await page.locator('dialog').getByRole('alert').allTextContents(), [])
}

/** Tells an agent what to do, and waits until each is seen. The push service answers meanwhile. */
async function tell(lines, workspace = 'fix-login', say = (line) => server.middlemanSoon('send', workspace, '--enter', line)) {
  for (const line of lines) {
    await say(line)
    const state = { work: 'working', ask: 'waiting', idle: 'idle' }[line]
    await becomes(async () => JSON.parse(await server.middlemanSoon('status', workspace, '--json')).state, state) // each looks at its screen
  }
}

const asks = (text) => JSON.parse(text).items.at(-1).kind === 'needs-input'

/** What the push service gets when the agent asks. An idle agent that does not work at once is news of its own. */
async function pushed(lines = ['work', 'ask'], workspace = 'fix-login', wanted = asks) {
  let collect
  const got = new Promise((resolve) => {
    collect = (request, body) => {
      const text = decrypt(body)
      if (wanted(text)) resolve({ request, text })
    }
  })
  service.on('pushed', collect)
  await tell(lines, workspace)
  const late = AbortSignal.timeout(patience)
  const first = await Promise.race([got, once(late, 'abort')])
  service.off('pushed', collect)
  assert.ok(first.text, 'nothing was pushed')
  return first
}

/** RFC 8291 and RFC 8188, from the other side. */
function decrypt(body) {
  const [salt, theirs, sealed] = [body.subarray(0, 16), body.subarray(21, 86), body.subarray(86)]
  assert.equal(body[20], 65)
  assert.ok(body.readUInt32BE(16) > sealed.length)
  const derive = (input, salt, info, size) => Buffer.from(crypto.hkdfSync('sha256', input, salt, info, size))
  const input = derive(keys.computeSecret(theirs), secret, Buffer.concat([Buffer.from('WebPush: info\0'), keys.getPublicKey(), theirs]), 32)
  const key = derive(input, salt, 'Content-Encoding: aes128gcm\0', 16)
  const cipher = crypto.createDecipheriv('aes-128-gcm', key, derive(input, salt, 'Content-Encoding: nonce\0', 12))
  cipher.setAuthTag(sealed.subarray(-16))
  const record = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()])
  return record.subarray(0, record.lastIndexOf(2)).toString()
}

/** RFC 8292, as a push service checks it. */
function check(request, serverKey) {
  const [, head, claims, signature, k] = request.headers.authorization.match(/^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)$/)
  const raw = Buffer.from(k, 'base64url')
  assert.deepEqual([...raw], serverKey, 'the key that the browser subscribed with')
  const jwk = { kty: 'EC', crv: 'P-256', x: raw.subarray(1, 33).toString('base64url'), y: raw.subarray(33).toString('base64url') }
  const key = { key: crypto.createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' }
  assert.ok(crypto.verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url')), 'the signature')
  const { aud, exp } = JSON.parse(Buffer.from(claims, 'base64url'))
  assert.equal(aud, `http://127.0.0.1:${service.address().port}`)
  assert.ok(exp * 1000 > Date.now() && exp * 1000 < Date.now() + 86_400_000)
}

/**
 * Delivers a message, and waits until the worker has shown it. Nobody may ask for the
 * notifications meanwhile: Chromium forgets one that it finds recorded and not shown yet.
 */
async function deliver(text) {
  await worker().evaluate(() => {
    const { registration } = self
    const { showNotification } = registration
    self.showed = new Promise((resolve) => {
      registration.showNotification = (...notification) => {
        registration.showNotification = showNotification
        const showing = registration.showNotification(...notification)
        resolve(showing)
        return showing
      }
    })
  })
  await devtools.send('ServiceWorker.deliverPushMessage', { origin: url(''), registrationId: registration, data: text })
  await worker().evaluate(() => self.showed)
}

/** Waits until the worker shows as many notifications; its events come one after the other. */
async function showing(n) {
  for (const until = Date.now() + patience; ;) {
    const list = await shown()
    if (list.length === n) return list
    assert.ok(Date.now() < until, `the worker shows ${JSON.stringify(list)} and not ${n}`)
    await worker().evaluate(() => new Promise((next) => setTimeout(next, 20)))
  }
}

const click = () => worker().evaluate(async () => {
  const opened = []
  self.clients.openWindow = async (path) => void opened.push(path)
  const [notification] = await self.registration.getNotifications()
  const work = []
  const event = new NotificationEvent('notificationclick', { notification })
  event.waitUntil = (promise) => work.push(promise)
  self.dispatchEvent(event)
  await Promise.allSettled(work)
  return opened
})

test('a switch subscribes the browser', async () => {
  await openSettings()
  assert.equal(await control('With names and reasons').isDisabled(), true)
  await turnOn('Also while none is')
  for (const scheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme: scheme })
    assert.deepEqual(await findings(page), [], scheme)
    await shot(page, `notifications-${scheme}`)
  }
  await page.setViewportSize(phone.viewport)
  await shot(page, 'notifications-phone')
  await page.setViewportSize(desktop.viewport)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Notifications: on' }).waitFor()
})

test('what an agent needs is pushed, signed and encrypted, without names; a click opens the session', async () => {
  const serverKey = await page.evaluate(() => JSON.parse(localStorage.getItem('simulated')))
  await page.goto('about:blank')
  const { request, text } = await pushed()
  assert.equal(`${request.method} ${request.url}`, 'POST /this-browser')
  check(request, serverKey)
  assert.deepEqual(JSON.parse(text), { items: [{ kind: 'needs-input', session }] })
  await deliver(text)
  assert.deepEqual(await showing(1), [{ title: 'middleman', body: 'A session needs you', data: session }])
  const opened = await click()
  assert.deepEqual(opened, [`/#session=${session}`])
  await showing(0)
  await page.goto(url(opened[0]))
  await phase(page, 'attached')
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).hash, '/w/fix-login/claude')
})

test('names and reasons are sent where the user allows it; a page that is open is shown the session', async () => {
  await openSettings()
  await turnOn('With names and reasons')
  await page.goto('about:blank')
  const { text } = await pushed(['idle', 'work', 'ask'])
  assert.deepEqual(JSON.parse(text).items.at(-1), { kind: 'needs-input', session, name: 'fix-login/claude', reason: 'Do you want to proceed?' })
  await deliver(JSON.stringify({ items: JSON.parse(text).items.slice(-1) }))
  assert.deepEqual(await showing(1), [{ title: 'fix-login/claude', body: 'It needs you: Do you want to proceed?', data: session }])
  await page.goto(url())
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
  assert.deepEqual(await click(), [])
  await phase(page, 'attached')
  assert.equal(new URL(page.url()).pathname, '/w/fix-login/claude')
})

test('what the user looks at and types into is not pushed', async () => {
  server.middleman('new', 'other', '-d', '--', agent)
  const other = JSON.parse(server.middleman('ls', '--sessions', '--json')).sessions.find((s) => s.id !== session).id
  const items = []
  const collect = (_, body) => items.push(...JSON.parse(decrypt(body)).items)
  service.on('pushed', collect)
  await page.locator('.xterm-helper-textarea').focus()
  await tell(['idle', 'work', 'ask'], 'fix-login', (line) => page.keyboard.type(`${line}\r`)) // who typed 30 s ago looks no more
  await pushed(['work', 'ask'], 'other') // after what was not said
  service.off('pushed', collect)
  assert.deepEqual(items.map((item) => item.session), [other])
})

test('a subscription that its service does not know goes, and comes back with the page', async () => {
  await page.goto('about:blank')
  answer = 410
  await pushed(['idle', 'work', 'ask'], 'fix-login', () => true)
  answer = 201
  const subscription = (method) => {
    const sent = page.waitForRequest((r) => r.method() === method && r.url().endsWith('/push-subscription'))
    sent.catch(() => {})
    return sent
  }
  let renewed
  for (const until = Date.now() + patience; ;) { // the server may still be taking the answer in
    const asked = subscription('GET')
    renewed = subscription('PUT')
    await page.goto(url())
    if (!(await (await (await asked).response()).json()).endpoint) break
    assert.ok(Date.now() < until, 'the server keeps the subscription')
  }
  assert.equal((await (await renewed).response()).status(), 204)
  await page.goto('about:blank')
  await pushed(['idle', 'work', 'ask'])
})

test('a logout takes the subscription and the worker along', async () => {
  await page.goto(url())
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
  const left = page.waitForEvent('load')
  await palette(page, 'log out')
  await left
  await page.getByRole('heading', { name: 'Log in with a link' }).waitFor()
  await page.waitForFunction(async () => (await navigator.serviceWorker.getRegistrations()).length === 0)
})

test('no page complained, and no policy refused anything', () => {
  assert.deepEqual(complaints, [])
})
