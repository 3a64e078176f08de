// Many windows of one browser: they share one stream of events, and each that is
// lost, hangs or is hidden is no loss for the others.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { complaints, launch, lines, patience, phase, seen, watch } from './browser.mjs'
import { desktop } from './pages.mjs'
import { Server } from './server.mjs'

const many = 8
const sessions = 20
const server = new Server()
let browser
let context
let windows = []
const streams = new Map() // requests of open streams, with their pages

before(async () => {
  await server.start()
  browser = await launch()
  context = await browser.newContext(desktop)
  await context.addInitScript(holdTimers)
  context.on('request', (r) => new URL(r.url()).pathname === '/api/v1/events' && streams.set(r, r.frame().page()))
  for (const end of ['requestfinished', 'requestfailed']) context.on(end, (r) => streams.delete(r))
  server.middleman('new', 'many', '-d', '--', 'sh', '-c', 'while read -r line; do eval "$line"; done')
  for (let i = 1; i < sessions; i++) server.middleman('run', 'many', '-d', '--name', `s${i}`, '--', 'sleep', '600')
})

after(async () => {
  await browser?.close()
  await server.cleanUp()
})

/** In a page: timers of more than a few seconds go off when the test calls elapse. */
function holdTimers() {
  const { setTimeout, clearTimeout } = window
  const held = new Map()
  let id = 1e9
  window.setTimeout = (f, ms, ...rest) => (ms >= 9_000 ? (held.set(++id, { f, ms }), id) : setTimeout(f, ms, ...rest))
  window.clearTimeout = (id) => void (held.delete(id) || clearTimeout(id))
  window.elapse = (time) => {
    const due = [...held].filter(([, { ms }]) => ms <= time).sort(([, a], [, b]) => a.ms - b.ms)
    for (const [id, { f }] of due) if (held.delete(id)) f()
  }
}

const elapse = (page, ms) => page.evaluate((ms) => window.elapse(ms), ms)
const url = (rest = '/') => `http://${server.address}${rest}`
const all = (f) => Promise.all(windows.map(f))

/** Waits until all windows are connected, with one stream for all. */
async function connected() {
  await all((page) => page.getByText('Connected', { exact: true }).waitFor())
  await all((page) => phase(page, 'attached'))
  for (const until = Date.now() + patience; open().length !== 1; await windows[0].waitForTimeout(50)) {
    assert.ok(Date.now() < until, `${open().length} streams`)
  }
}

let news = 0

/** Has something happen, and waits until all windows show it. */
async function told(pages = windows) {
  const name = `news-${++news}`
  server.middleman('run', 'many', '-d', '--name', name, '--', 'true')
  await Promise.all(pages.map((page) => page.getByRole('tab', { name }).waitFor()))
}

/** The windows that have a stream; one that has crashed says of no request that it has ended. */
const open = () => [...streams.values()].filter((page) => windows.includes(page))
const leader = () => open()[0]

test(`${many} windows are connected by one stream, and each is told what happens`, async () => {
  const first = watch(await context.newPage())
  await first.goto(server.loginLink.replace('/#', '/w/many/sh#'))
  await phase(first, 'attached')
  windows = [first, ...await Promise.all(Array.from({ length: many - 1 }, async (_, i) => {
    const page = watch(await context.newPage())
    await page.goto(url(`/w/many/s${i + 1}`))
    return page
  }))]
  await connected()
  await told()
})

test('the window that has the stream is closed, or crashes: another one goes on', async () => {
  const closed = leader()
  await closed.close()
  windows = windows.filter((page) => page !== closed)
  await told()
  await connected()
  const crashed = leader()
  windows = windows.filter((page) => page !== crashed)
  await crashed.goto('chrome://crash').catch(() => {})
  await told()
  await connected()
  await crashed.close()
})

test('the window that has the stream hangs: another one takes it', async () => {
  const hung = leader()
  const cdp = await context.newCDPSession(hung)
  await cdp.send('Debugger.enable')
  const paused = new Promise((resolve) => cdp.once('Debugger.paused', resolve))
  await cdp.send('Debugger.pause')
  cdp.send('Runtime.evaluate', { expression: '0' }).catch(() => {}) // where it pauses
  await paused
  const others = windows.filter((page) => page !== hung)
  await Promise.all(others.map((page) => elapse(page, 120_000)))
  await told(others)
  await cdp.send('Debugger.resume')
  await cdp.detach()
  await told()
  await connected()
})

test('a server that is killed and comes back has all windows again', async () => {
  await server.kill()
  await all((page) => page.getByText('Reconnecting').first().waitFor())
  await server.start()
  await connected()
  await told()
})

test('a login that ends, ends in all windows, and the next one is for all', async () => {
  server.middleman('login', 'revoke', '--all')
  await all((page) => page.getByText('This browser has no login for').waitFor())
  const [one] = windows
  await one.goto(server.newLink().replace('/#', '/w/many/sh#'))
  await connected()
  await told()
})

/** Has a page believe that nobody, or somebody, can see it. */
const look = (page, visible) => page.evaluate((state) => {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
  document.dispatchEvent(new Event('visibilitychange'))
}, visible ? 'visible' : 'hidden')

/** Has WebSockets say so many times that bytes of them are still to be sent. */
const sending = (page, times) => page.evaluate((times) => {
  const { get } = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'bufferedAmount')
  Object.defineProperty(WebSocket.prototype, 'bufferedAmount', { get() { return times-- > 0 ? 1 : get.call(this) } })
}, times)

test('a hidden window gives its terminal back, and misses nothing', async () => {
  const [page] = windows
  const writer = () => JSON.parse(server.middleman('ls', '--sessions', '--json')).sessions.find((s) => s.name === 'sh').writer
  const say = (line) => server.middleman('send', 'many/sh', '--enter', line)
  await page.goto(url('/w/many/sh'))
  await phase(page, 'attached')
  say('for i in 1 2 3; do echo before-$i; done')
  await seen(page, /^before-3$/)
  await sending(page, 3)
  await look(page, false)
  await elapse(page, 60_000)
  await phase(page, 'detached')
  for (const until = Date.now() + patience; writer(); ) assert.ok(Date.now() < until, 'the session still has a writer')
  say('for i in 1 2 3; do echo hidden-$i; done')
  await told()
  await look(page, true)
  await connected()
  await seen(page, /^hidden-3$/)
  assert.deepEqual((await lines(page)).filter((line) => /^(before|hidden)-\d$/.test(line)),
    ['before-1', 'before-2', 'before-3', 'hidden-1', 'hidden-2', 'hidden-3'])
})

test('an answer that is cut off is none, and is asked for again', async () => {
  const [page] = windows
  await page.evaluate(() => {
    const { fetch } = window
    window.asked = 0
    window.fetch = (url, how) => {
      if (!/[?&]status=/.test(url) || window.asked++ >= 2) return fetch(url, how)
      return Promise.resolve(new Response(new ReadableStream({ pull: (answer) => answer.error(new TypeError('cut off')) })))
    }
  })
  for (let asked = 0; asked < 3; asked++) {
    await look(page, true)
    await page.waitForFunction((asked) => window.asked > asked, asked)
  }
})

test('no page complained, and no policy refused anything', () => {
  const revoked = /status of 404 .*\/logins\// // a new login removes the one of before, which was revoked here
  assert.deepEqual(complaints.filter((text) => !revoked.test(text)), [])
})
