// What a hostile page, and a hostile server on our own port, get of a browser
// that is logged in: nothing that suffices is sent to them or can be read by
// them, no request of theirs counts, and nobody is logged out.

import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import { after, before, beforeEach, test } from 'node:test'
import { becomes, launch, patience, run, seen, shot, phase, toasted } from './browser.mjs'
import { Server } from './server.mjs'

const server = new Server()
const hostile = new Hostile()
let browser
let context
let page // of the web client
let secrets // that the browser has of the server
let counted // requests of others that the server answered with success

before(async () => {
  await server.start()
  await hostile.listen()
  browser = await launch('--host-resolver-rules=MAP evil.test 127.0.0.1')
  context = await browser.newContext()
  page = await context.newPage()
  secrets = new Set([server.loginLink.split('=')[1]])
  context.on('request', keepSecrets)
  await page.goto(server.loginLink)
  await page.getByRole('main').getByRole('button', { name: 'New workspace' }).click()
  await page.getByRole('combobox', { name: 'Repository' }).fill(server.repository)
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('target')
  await page.getByRole('button', { name: 'Create workspace' }).click()
  await phase(page, 'attached')
  context.on('response', (response) => {
    if (!response.ok() || !response.url().startsWith(url('/api/'))) return
    const visit = response.request().isNavigationRequest() // which has no frame yet
    if (visit || !response.frame().url().startsWith(url('/'))) counted.push(response.url())
  })
})

after(async () => {
  await browser?.close()
  await hostile.close()
  await server.cleanUp()
})

beforeEach(() => {
  hostile.received = []
  counted = []
})

const url = (path = '/') => `http://${server.address}${path}`
const logins = () => JSON.parse(server.middleman('login', 'list', '--json')).logins

/** Tokens and tickets, so that it can be shown who has received them. */
function keepSecrets(sent) {
  const headers = sent.headers()
  for (const value of [headers.authorization?.split(' ')[1], headers['sec-websocket-protocol']?.split('ticket.')[1]]) {
    if (value?.length > 20) secrets.add(value) // shorter ones are made up below
  }
}

/** A server that is not ours, and keeps all that it is sent. */
function Hostile() {
  this.received = []
  this.answer = () => undefined
  const http = createServer(async (incoming, response) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    this.received.push({ method: incoming.method, path: incoming.url, headers: incoming.headers, body })
    const [status, text, type = 'text/html', headers = {}] = this.answer(incoming, body) ?? [200, '<!doctype html><title>hostile</title>']
    response.writeHead(status, { 'Content-Type': type, ...headers })
    response.end(text)
  })
  http.on('upgrade', (incoming, socket) => {
    this.received.push({ method: 'WebSocket', path: incoming.url, headers: incoming.headers, body: '' })
    socket.destroy()
  })
  this.listen = (port = 0, host = '127.0.0.1') => new Promise((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, host, () => resolve((this.port = http.address().port)))
  })
  /** Listens as soon as those who were killed there are gone. */
  this.listenSoon = async (port, until = Date.now() + patience) => {
    for (;;) {
      try {
        return await this.listen(port)
      } catch (error) {
        if (Date.now() > until) throw error
      }
    }
  }
  this.close = () => new Promise((resolve) => {
    http.close(resolve)
    http.closeAllConnections()
  })
  this.url = (host = '127.0.0.1', path = '/') => `http://${host}:${this.port}${path}`
}

/** What a hostile page can try; it runs in the page, and tells what came of it. */
async function attempts({ target, session }) {
  const outcome = {}
  const attempt = async (name, f) => {
    outcome[name] = await f().then((got) => `got ${JSON.stringify(got)}`, (error) => `failed: ${error.name}`)
  }
  const post = { method: 'POST', mode: 'no-cors', credentials: 'include' }
  await attempt('read', () => fetch(target + '/api/v1/workspaces', { credentials: 'include' }).then((r) => r.text()))
  await attempt('read the shell', () => fetch(target + '/').then((r) => r.text()))
  await attempt('blind read', () => fetch(target + '/api/v1/workspaces', { ...post, method: 'GET' }).then((r) => r.type))
  for (const path of ['/logout', '/login-links', `/sessions/${session}/input`, `/sessions/${session}/tickets`, '/login/challenge']) {
    await attempt('blind POST ' + path, () => fetch(target + '/api/v1' + path, { ...post, body: '{"for":"attach"}' }).then((r) => r.type))
  }
  await attempt('DELETE logins', () => fetch(target + '/api/v1/logins', { method: 'DELETE', credentials: 'include' }).then((r) => r.status))
  await attempt('POST with a header', () => fetch(target + '/api/v1/logout', { method: 'POST', headers: { Authorization: 'Bearer x' } }).then((r) => r.status))
  await attempt('WebSocket', () => new Promise((resolve, reject) => {
    const socket = new WebSocket(target.replace('http', 'ws') + `/api/v1/sessions/${session}/terminal?mode=attach`, ['middleman.v1', 'ticket.x'])
    socket.onopen = () => resolve('open')
    socket.onerror = () => reject(new Error('refused'))
  }))
  await attempt('event stream', () => new Promise((resolve, reject) => {
    const source = new EventSource(target + '/api/v1/events', { withCredentials: true })
    source.onopen = () => resolve('open')
    source.onerror = () => { source.close(); reject(new Error('refused')) }
  }))
  await attempt('script', () => new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = target + '/'
    script.onload = () => resolve('loaded')
    script.onerror = () => reject(new Error('refused'))
    document.head.append(script)
  }))
  await attempt('database', async () => (await indexedDB.databases()).map((d) => d.name))
  await attempt('storage', async () => [Object.keys(localStorage), document.cookie.includes('planted') ? '' : document.cookie])
  return outcome
}

/** Checks that the attempts came to nothing, and the login still holds. */
async function nothing(outcome) {
  for (const [name, got] of Object.entries(outcome)) {
    if (name === 'database') assert.equal(got, 'got []', name)
    else if (name === 'storage') assert.equal(got, 'got [[],""]', name)
    // An opaque answer says not even whether it was refused; counted does.
    else if (name.startsWith('blind')) assert.match(got, /^failed|"opaque"/, name)
    else assert.match(got, /^failed/, name)
  }
  assert.deepEqual(counted, [])
  for (const { method, path, headers, body } of hostile.received) {
    const all = JSON.stringify([path, headers, body])
    assert.ok(![...secrets].some((secret) => all.includes(secret)), `${method} ${path} carries a secret: ${all}`)
    assert.equal(headers.authorization, undefined, path)
  }
  await works()
}

/** Checks that the client is logged in and types. */
async function works() {
  await page.bringToFront()
  await phase(page, 'attached')
  const word = `works-${Math.random().toString(36).slice(2)}`
  await run(page, `echo ${word.slice(0, 3)}""${word.slice(3)}`)
  await seen(page, new RegExp(`^${word}$`))
  await page.reload()
  await phase(page, 'attached')
}

const session = () => JSON.parse(server.middleman('ls', '--sessions', '--json')).sessions[0].id

for (const [name, host] of [['another port', '127.0.0.1'], ['another host name', 'evil.test'], ['localhost', 'localhost']]) {
  test(`a page on ${name}`, async () => {
    const before = logins().map((login) => login.id)
    const evil = await context.newPage()
    await evil.goto(hostile.url(host))
    const outcome = await evil.evaluate(attempts, { target: url(''), session: session() })
    await evil.close()
    await nothing(outcome)
    assert.deepEqual(logins().map((login) => login.id), before)
  })
}

test('a name that is rebound to our address', async () => {
  const evil = await context.newPage()
  const rebound = `http://evil.test:${server.address.split(':')[1]}`
  assert.equal((await evil.goto(rebound)).status(), 421)
  assert.match(await evil.evaluate(() => fetch('/api/v1/health').then((r) => String(r.status))), /421/)
  assert.deepEqual(await evil.evaluate(async () => (await indexedDB.databases()).map((d) => d.name)), [])
  await evil.close()
  await nothing({})
})

test('a page that sends the browser elsewhere, from our page to its own', async () => {
  await page.evaluate((to) => location.assign(to), hostile.url())
  await page.waitForURL(hostile.url())
  const [{ headers }] = hostile.received
  assert.equal(headers.cookie, undefined)
  assert.equal(headers.referer, undefined)
  await page.goto(url('/w/target'))
  await nothing({})
})

test('our page in a frame', async () => {
  const evil = await context.newPage()
  await evil.goto(hostile.url())
  await evil.evaluate((target) => new Promise((resolve) => {
    const frame = document.createElement('iframe')
    frame.onload = resolve // of the error page as well
    frame.src = target
    document.body.append(frame)
  }), url('/w/target'))
  await evil.waitForFunction(() => frames.length === 1)
  await becomes(() => evil.mainFrame().childFrames().map((frame) => frame.url().split('/')[0]), ['chrome-error:']) // another process has it
  await evil.close()
  await nothing({})
})

test('our page in a window of a hostile one', async () => {
  const evil = await context.newPage()
  await evil.goto(hostile.url())
  const opening = context.waitForEvent('page')
  await evil.evaluate((target) => { window.mine = window.open(target) }, url('/w/target'))
  const opened = await opening
  await opened.waitForURL(url('/w/target'))
  await evil.waitForFunction(() => window.mine.closed) // for its opener: the policy has cut them apart
  assert.equal(await opened.evaluate(() => window.opener), null)
  await opened.close()
  await evil.close()
  await nothing({})
})

test('a link with a wrong secret', async () => {
  const before = logins().map((login) => login.id)
  const evil = await context.newPage()
  await evil.goto(hostile.url())
  await evil.evaluate((to) => location.assign(to), url('/#login=AAAAAAAAAAAAAAAAAAAAAAAAAA'))
  await toasted(evil, 'was used before')
  await evil.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
  await evil.close()
  await nothing({})
  assert.deepEqual(logins().map((login) => login.id), before)
})

test('planted cookies, as many as the browser keeps', async (t) => {
  t.after(() => context.clearCookies())
  const evil = await context.newPage()
  await evil.goto(hostile.url())
  const bytes = await evil.evaluate(() => {
    for (const name of ['middleman', 'middleman_', '__Host-middleman', 'session']) document.cookie = `${name}=planted; path=/`
    for (let i = 0; i < 180; i++) document.cookie = `planted${i}=${'x'.repeat(4000)}; path=/`
    return document.cookie.length // which waits until they are kept
  })
  assert.ok(bytes > 200_000, `the browser keeps ${bytes} bytes`)
  await evil.close()
  assert.equal((await page.goto(url('/w/target'))).status(), 200)
  await nothing({})
})

/** Asks the server at a port, as a program that says that it is at another address. */
function relay(port, host, path, body) {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/api/v1' + path, method: 'POST', headers: { Host: host, 'Content-Type': 'application/json' } }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode, text })
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

test('nobody gets our port while our server is away', async () => {
  const before = logins().map((login) => login.id)
  await server.kill()
  await page.getByText('Reconnecting').first().waitFor()
  for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::']) {
    await assert.rejects(new Hostile().listen(Number(server.listens.split(':')[1]), host), { code: /^(EADDRINUSE|EADDRNOTAVAIL|EAFNOSUPPORT)$/ }, host)
  }
  await server.start()
  await phase(page, 'attached')
  await nothing({})
  assert.deepEqual(logins().map((login) => login.id), before)
})

// Where the holder was killed too, as by a restart of the machine, a program of
// another user has the port. It runs at our origin: the browser cannot tell. It
// leaves a service worker and a copy of the page in the cache.
test('a server on our port after ours and its holder have ended', async () => {
  const home = server.address
  const listened = server.listens
  const second = await context.newPage() // of the two, one has the stream of events, and the other one hears of it
  await second.goto(url())
  await second.getByText('Connected', { exact: true }).waitFor()
  await server.kill()
  server.killHolder()
  await page.getByText('Reconnecting').first().waitFor()
  const squatter = new Hostile()
  await squatter.listenSoon(Number(listened.split(':')[1]))
  const evil = await context.newPage()
  try {
    const junk = JSON.stringify({ nonce: 'A'.repeat(43), signature: 'A'.repeat(86) + '==', token: 'x', expires_in: 600 })
    squatter.answer = ({ url: path }) => {
      if (path.startsWith('/api/')) return [200, junk, 'application/json']
      if (path === '/sw.js') return [200, worker, 'text/javascript', { 'Service-Worker-Allowed': '/', 'Cache-Control': 'max-age=31536000' }]
      return [200, '<!doctype html><title>hostile</title>', 'text/html', { 'Cache-Control': 'max-age=31536000' }]
    }

    // The page that is open asks for proof, and sends nothing but that question.
    await page.getByRole('heading', { name: 'Another program answers here' }).waitFor()
    await second.getByRole('heading', { name: 'Another program answers here' }).waitFor()
    await second.close()
    await shot(page, 'impostor')
    const asked = squatter.received.filter(({ path }) => path.startsWith('/api/'))
    assert.ok(asked.length > 0)
    for (const { method, path, headers, body } of asked) {
      assert.equal(`${method} ${path}`, 'POST /api/v1/login/challenge')
      assert.equal(headers.authorization ?? headers.cookie, undefined)
      assert.deepEqual(Object.keys(JSON.parse(body)), ['login', 'nonce'])
    }

    // A page of its own finds a key that it can sign with, and no more.
    for (const host of ['127.0.0.1', home.split(':')[0]]) {
      await evil.goto(`http://${host}:${listened.split(':')[1]}/`)
      await evil.evaluate(async () => {
        await navigator.serviceWorker.register('/sw.js', { scope: '/' })
        await navigator.serviceWorker.ready
      })
    }
    const found = await evil.evaluate(async () => {
      const record = await new Promise((resolve) => {
        indexedDB.open('middleman').onsuccess = (opened) =>
          (opened.target.result.transaction('login').objectStore('login').get('this').onsuccess = (got) => resolve(got.target.result))
      })
      window.key = record.key
      const failures = []
      for (const format of ['jwk', 'pkcs8', 'raw']) {
        await crypto.subtle.exportKey(format, record.key).catch((error) => failures.push(error.name))
      }
      return { failures, record: JSON.stringify(record), storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }]), id: record.id, instance: record.instance }
    })
    assert.equal(found.failures.length, 3)
    for (const text of [found.record, found.storage]) assert.ok(![...secrets].some((secret) => text.includes(secret)), text)
    assert.deepEqual(Object.keys(JSON.parse(found.record)).sort(), ['id', 'instance', 'key', 'serverKey'])
    assert.equal(JSON.stringify(JSON.parse(found.record).key), '{}')
    const signs = async (host, nonce) => evil.evaluate(async (text) => btoa(String.fromCharCode(...new Uint8Array(
      await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, window.key, new TextEncoder().encode(text))))),
      ['middleman login v1', found.instance, `http://${host}`, found.id, nonce].join('\n'))

    // Our server is back, at another port or at the same: nothing that the key signs counts.
    const nonce = 'A nonce of a browser'
    for (const listens of ['', listened]) {
      server.listens = listens
      if (listens) await squatter.close()
      await server.start()
      assert.notEqual(server.address.split(':')[0], home.split(':')[0], 'it has a name that nobody had')
      const port = server.address.split(':')[1]
      for (const host of [home, server.address, `localhost:${port}`, `127.0.0.1:${port}`]) {
        const { status } = await relay(port, host, '/login/challenge', { login: found.id, nonce })
        assert.ok([401, 421].includes(status), `challenge relayed as ${host}: ${status}`)
        const access = await relay(port, host, '/login/access', { login: found.id, nonce, signature: await signs(host, nonce) })
        assert.ok([401, 421].includes(access.status), `proof relayed as ${host}: ${access.text}`)
      }
      for (const secret of secrets) { // tokens and tickets of the server before
        const answer = await fetch(`http://127.0.0.1:${port}/api/v1/workspaces`, { headers: { Authorization: `Bearer ${secret}` } })
        assert.equal(answer.status, 401)
      }
      assert.equal(logins().length, 0)
      if (!listens) await server.kill('SIGTERM')
    }

    // What it has left runs at the origin of before, and at the plain address.
    for (const host of [home, listened]) {
      await evil.goto(`http://${host}/`)
      assert.equal(await evil.title(), 'left behind', `the page of the service worker at ${host}`)
      const outcome = await evil.evaluate(attempts, { target: url(''), session: session() })
      delete outcome.database // it is at the origin of before, and finds the key of before
      delete outcome.storage
      for (const [name, got] of Object.entries(outcome)) assert.match(got, /^failed|"opaque"/, name)
      const own = await evil.evaluate(async () => (await fetch('/api/v1/login/challenge', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"login":"l0000000000000000","nonce":"A nonce of a browser"}' })).status)
      assert.ok([401, 421].includes(own), `at ${host}: ${own}`)
    }
    assert.deepEqual(counted, [])
  } finally {
    await evil.close()
    await squatter.close()
  }

  // The page that is open says what to do; the next link leads past all that was left.
  const where = new URL(page.url()).pathname
  await page.getByText('This browser has no login for').waitFor()
  secrets.add(server.loginLink.split('=')[1])
  await page.goto(server.loginLink)
  await page.getByRole('main').getByRole('button', { name: 'New workspace' }).waitFor()
  await page.goto(url(where))
  await phase(page, 'attached')
  await nothing({})
  assert.equal(logins().length, 1)
})

/** A service worker that answers with pages of its own for ever. */
const worker = `
  addEventListener('install', () => skipWaiting())
  addEventListener('activate', (event) => event.waitUntil(clients.claim()))
  addEventListener('fetch', (event) => {
    if (event.request.mode === 'navigate') {
      event.respondWith(new Response('<!doctype html><title>left behind</title>', { headers: { 'Content-Type': 'text/html' } }))
    }
  })`

test('a server on our port that says that the login has ended', async () => {
  await server.kill()
  server.killHolder()
  await page.getByText('Reconnecting').first().waitFor()
  const squatter = new Hostile()
  await squatter.listenSoon(Number(server.listens.split(':')[1]))
  squatter.answer = () => [401, '{"status":401,"code":"unauthorized","detail":"no"}', 'application/problem+json']
  await page.getByText('This browser has no login for').waitFor()
  await squatter.close()
  await server.start()
  secrets.add(server.loginLink.split('=')[1])
  await page.goto(server.loginLink)
  await page.getByRole('main').getByRole('button', { name: 'New workspace' }).waitFor()
  await page.goto(url('/w/target'))
  await nothing({})
})
