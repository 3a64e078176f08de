// Links to watch one session: who has one sees that session, and nothing else.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { complaints, launch, lines, phase, prompted, run, seen, shot, toasted, watch } from './browser.mjs'
import { Server } from './server.mjs'

const desktop = { viewport: { width: 1280, height: 800 }, colorScheme: 'dark', reducedMotion: 'reduce' }
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: 'light', reducedMotion: 'reduce' }
const server = new Server()
let browser
let page
let guest // a browser without a login
let link

before(async () => {
  await server.start()
  browser = await launch()
  const context = await browser.newContext(desktop)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  page = watch(await context.newPage())
  guest = watch(await (await browser.newContext(phone)).newPage())
})

after(async () => {
  await browser?.close()
  await server.cleanUp()
})

const button = (name, on = page) => on.getByRole('button', { name, exact: true })
const dialog = () => page.getByRole('dialog', { name: 'Share shown/bash' })

test('a link is made, and shown once', async () => {
  server.middleman('new', 'shown', '-d', '--', 'bash', '--norc')
  server.middleman('new', 'other', '-d', '--', 'bash', '--norc')
  await page.goto(server.loginLink.replace('/#', '/w/shown#'))
  await phase(page, 'attached')
  await run(page, 'echo be""fore')
  await seen(page, /^before$/)
  await button('More actions').click()
  await button('Share bash…').click()
  await dialog().getByRole('combobox', { name: 'It is valid for' }).selectOption('1h')
  await button('Make a link').click()
  await button('Copy', dialog()).click()
  await toasted(page, 'Copied the link')
  link = await page.evaluate(() => navigator.clipboard.readText())
  assert.equal(await dialog().getByRole('textbox', { name: 'The link' }).inputValue(), link)
  await dialog().getByText('not used yet').waitFor()
  await dialog().getByText('shown/bash', { exact: true }).waitFor()
  await shot(page, 'share')
  await page.keyboard.press('Escape')
})

test('who has it watches: past and present, without typing', async () => {
  await guest.goto(link)
  await phase(guest, 'watching')
  assert.ok(!guest.url().includes('#'), 'the secret must not stay in the address')
  await guest.getByRole('heading', { name: 'shown/bash' }).waitFor()
  await seen(guest, /^before$/)
  await guest.locator('.xterm-helper-textarea').focus()
  await guest.keyboard.type('echo from the guest\n')
  await prompted(page)
  await run(page, 'echo af""ter')
  await seen(guest, /^after$/)
  assert.deepEqual((await lines(page)).filter((line) => line.includes('guest')), [])
  await shot(guest, 'share-guest-phone')
  await guest.reload() // the tab keeps it
  await phase(guest, 'watching')
  await seen(guest, /^after$/)
})

test('its token is of that session, and of watching it alone', async () => {
  const token = link.split('#share=')[1]
  const mine = new URL(link).pathname.split('/')[2]
  const other = JSON.parse(server.middleman('ls', '--sessions', '--json')).sessions.find((s) => s.id !== mine).id
  const ask = async (method, path, body) => (await fetch(`http://${server.address}/api/v1${path}`, {
    method, headers: { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) }, body: body && JSON.stringify(body),
  })).status
  assert.equal(await ask('GET', `/sessions/${mine}`), 200)
  assert.equal(await ask('POST', `/sessions/${mine}/tickets`, { for: 'watch' }), 200)
  for (const [method, path, body] of [
    ['GET', '/sessions'], ['GET', '/workspaces'], ['GET', '/events'], ['GET', '/tokens'], ['GET', '/approvals'], ['GET', '/workspaces/shown/diff'],
    ['GET', `/sessions/${other}`], ['GET', `/sessions/${other}/capture`], ['POST', `/sessions/${other}/tickets`, { for: 'watch' }],
    ['POST', `/sessions/${mine}/tickets`, { for: 'attach' }], ['POST', `/sessions/${mine}/prompt`, { text: 'x' }], ['DELETE', `/sessions/${mine}`],
    ['POST', '/tokens', { name: 'more', scope: 'session', session: mine }],
  ]) assert.equal(await ask(method, path, body), 403, `${method} ${path}`)
})

test('it is revoked: whoever watches is out at once, and stays out', async () => {
  await button('More actions').click()
  await button('Shared links…').click()
  await button('Revoke the link to shown/bash').click()
  await page.getByText('There is none.').waitFor()
  await guest.getByRole('heading', { name: 'Nothing to watch' }).waitFor()
  await shot(guest, 'share-revoked-phone')
  await guest.goto('about:blank')
  await guest.goto(link)
  await guest.getByRole('heading', { name: 'Nothing to watch' }).waitFor()
})

test('no page complained, and no policy refused anything', () => {
  assert.deepEqual(complaints, [])
})
