// The web client on a phone: fingers, the keys that it lacks, and sizes.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { becomes, complaints, launch, phase, prompted, run, seen, shot, toasted, watch } from './browser.mjs'
import { fakeAgent, findings, phone } from './pages.mjs'
import { Server } from './server.mjs'

const server = new Server('[profiles.a-rather-long-helper]\ncommand = ["cat"]\n')
const agent = join(server.root, 'claude')
let browser
let context
let page
let cdp

before(async () => {
  await server.start()
  browser = await launch()
  context = await browser.newContext(phone)
  page = watch(await context.newPage())
  cdp = await context.newCDPSession(page)
  writeFileSync(agent, fakeAgent, { mode: 0o700 })
  server.middleman('new', 'fix-login', '-d', '--', agent)
  server.middleman('new', 'docs', '-d')
  await page.goto(server.newLink())
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
})

after(async () => {
  await browser?.close()
  await server.cleanUp()
})

const url = (rest = '/') => `http://${server.address}${rest}`
const button = (name, on = page) => on.getByRole('button', { name, exact: true })
const send = (session, line) => server.middleman('send', session, '--enter', line)
/** A touch; within a gesture each is 16 ms after the one before, however slow the machine is. */
let clock = 0
function touch(type, ...points) {
  clock = type === 'touchStart' ? Math.max(clock + 16, Date.now()) : clock + 16
  return cdp.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y]) => ({ x, y })), timestamp: clock / 1000 })
}
const viewport = () => page.evaluate(() => document.querySelector('.terminal-host').terminal.buffer.active.viewportY)

/** Moves a finger from one place to another, in steps of one frame. */
async function swipe([x0, y0], [x1, y1], steps = 8) {
  await touch('touchStart', [x0, y0])
  for (let i = 1; i <= steps; i++) {
    await touch('touchMove', [x0 + ((x1 - x0) * i) / steps, y0 + ((y1 - y0) * i) / steps])
    await page.evaluate(() => new Promise(requestAnimationFrame))
  }
  await touch('touchEnd')
}

/** Ends the momentum: a finger that moves a bit and then rests is no tap, and selects nothing, however late it is heard of. */
async function halt() {
  await touch('touchStart', [200, 300])
  await touch('touchMove', [200, 310])
  clock += 200
  await touch('touchEnd')
}

/** What can be pressed and is smaller than a finger. */
const small = () => page.evaluate(() => [...document.querySelectorAll('button, a, input, textarea, [role=option]')]
  .filter((e) => e.checkVisibility({ checkVisibilityCSS: true }) && !e.closest('.xterm'))
  .map((e) => ({ e, box: e.getBoundingClientRect() }))
  .filter(({ e, box }) => box.width > 0 && (box.height < 43.5 || (e.matches('button') && box.width < 43.5)))
  .map(({ e, box }) => `${e.outerHTML.slice(0, 90)} ${Math.round(box.width)}x${Math.round(box.height)}`))

const wider = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)

test('the start page fits, and everything on it is large enough', async () => {
  send('fix-login', 'ask')
  await page.getByRole('main').getByRole('region', { name: 'Needs you' }).getByRole('link', { name: /fix-login/ }).waitFor()
  await shot(page, 'phone-home')
  assert.deepEqual(await small(), [])
  assert.equal(await wider(), 0)
  assert.deepEqual(await findings(page), [])
  await button('Show workspaces').tap()
  await page.locator('.sidebar').getByRole('link', { name: /fix-login/ }).waitFor()
  await shot(page, 'phone-sidebar')
  assert.deepEqual(await small(), [])
  await page.locator('.scrim').tap({ position: { x: 360, y: 400 } })
})

test('an agent that waits is answered by a button, or by a text', async () => {
  await page.getByRole('main').getByRole('link', { name: /fix-login/ }).tap()
  await phase(page, 'attached')
  const question = page.getByRole('region', { name: 'The agent waits for you' })
  await question.getByText('Waiting for a permission: Do you want to proceed?').waitFor()
  await button('2. No, and tell it why', question).waitFor()
  await shot(page, 'phone-question')
  assert.deepEqual(await small(), [])
  await button('1. Yes', question).tap()
  await seen(page, /^1/)
  await button('Write…', question).tap()
  const box = page.getByRole('textbox', { name: 'Message' })
  await box.fill(' and say why')
  await shot(page, 'phone-composer')
  assert.deepEqual(await small(), [])
  await button('Send').tap()
  await seen(page, /got \[1 and say why\]$/)
  send('fix-login', 'idle')
  await question.waitFor({ state: 'detached' })
  await button('Close the message').tap()
  assert.equal(await page.locator('.tab').getByRole('button').count(), 0, 'no stop is beside a name')
})

test('a finger scrolls, with momentum, and full-screen programs too', async () => {
  await page.goto(url('/w/docs'))
  await phase(page, 'attached')
  await prompted(page)
  await run(page, 'seq 1 2000; echo do""ne')
  await seen(page, /^done$/)
  const bottom = await viewport()
  await touch('touchStart', [200, 300])
  await touch('touchMove', [200, 320])
  await touch('touchMove', [200, 400])
  await page.waitForFunction((at) => document.querySelector('.terminal-host').terminal.buffer.active.viewportY <= at - 3, bottom) // each move scrolls with a frame of its own
  for (let i = 0; i < 3; i++) await page.evaluate(() => new Promise(requestAnimationFrame))
  const held = await viewport()
  assert.ok(bottom - held <= 8, `${bottom - held} lines for 100 pixels`)
  await touch('touchMove', [200, 300])
  await page.waitForFunction((at) => document.querySelector('.terminal-host').terminal.buffer.active.viewportY === at, bottom)
  await touch('touchEnd')
  await swipe([200, 200], [200, 480]) // 17 lines
  await page.waitForFunction((at) => document.querySelector('.terminal-host').terminal.buffer.active.viewportY < at - 22, bottom)
  await shot(page, 'phone-scrolled')
  await halt() // else it would type arrows as well
  await run(page, "printf '\\033[?1049h\\033[?1h'; cat -v")
  await page.waitForFunction(() => document.querySelector('.terminal-host').terminal.buffer.active.type === 'alternate')
  await swipe([200, 200], [200, 300], 4)
  await page.keyboard.press('Enter')
  await seen(page, /\^\[OA\^\[OA/)
  await halt() // else it would type them at the shell
  await page.keyboard.press('Control+C')
  await prompted(page)
  await run(page, "printf '\\033[?1049l\\033[?1l'; clear; echo select-this here")
  await page.waitForFunction(() => document.querySelector('.terminal-host').terminal.buffer.active.type === 'normal')
  await seen(page, /^select-this here$/)
})

test('a finger that stays selects, and what it selects is copied', async () => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const cell = await page.evaluate(() => {
    const { terminal } = document.querySelector('.terminal-host')
    const box = document.querySelector('.xterm-screen').getBoundingClientRect()
    const { active } = terminal.buffer
    let row = 0
    for (let y = 0; y < terminal.rows; y++) if (active.getLine(active.viewportY + y).translateToString(true) === 'select-this here') row = y
    return { x: box.left, y: box.top + ((row + 0.5) * box.height) / terminal.rows, width: box.width / terminal.cols }
  })
  await touch('touchStart', [cell.x + 3 * cell.width, cell.y])
  await page.waitForFunction(() => document.querySelector('.terminal-host').terminal.getSelection() === 'select-this')
  clock += 600
  await touch('touchMove', [cell.x + 15.5 * cell.width, cell.y])
  await page.waitForFunction(() => document.querySelector('.terminal-host').terminal.getSelection() === 'select-this here')
  await touch('touchEnd')
  await page.getByRole('toolbar', { name: 'Selection' }).waitFor()
  await shot(page, 'phone-selected')
  await button('Copy').tap()
  await toasted(page, 'Copied')
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'select-this here')
  await page.getByRole('toolbar', { name: 'Selection' }).waitFor({ state: 'detached' })
})

test('two fingers change the size of the text', async () => {
  const size = () => page.evaluate(() => document.querySelector('.terminal-host').terminal.options.fontSize)
  const before = await size()
  await touch('touchStart', [150, 300], [250, 300])
  await touch('touchMove', [120, 300], [280, 300])
  await touch('touchMove', [100, 300], [300, 300])
  await touch('touchEnd')
  await becomes(async () => await size() >= before * 1.5, true, `it was ${before}`)
  await becomes(() => page.evaluate(() => JSON.parse(localStorage.getItem('middleman.prefs')).fontSize), size, 'it is kept')
  await touch('touchStart', [50, 300], [350, 300])
  await touch('touchMove', [100, 300], [300, 300])
  await touch('touchMove', [125, 300], [275, 300])
  await touch('touchEnd')
  await page.waitForFunction(() => document.querySelector('.terminal-host').terminal.cols > 40)
})

test('the key row scrolls visibly, and holds Ctrl and Alt for arrows too', async () => {
  const keys = page.getByRole('toolbar', { name: 'Keys' })
  const row = page.locator('.keys')
  await becomes(() => row.getAttribute('data-more'), 'after', 'a fading edge says that there is more')
  await run(page, 'echo c""at; cat -v')
  await seen(page, /^cat$/) // the shell takes keys no more
  const held = (name, pressed) => keys.getByRole('button', { name, exact: true, pressed }).waitFor()
  await button('Control', keys).tap()
  await held('Control', true)
  await button('Arrow right', keys).tap()
  await held('Control', false)
  await button('Alt', keys).tap()
  await held('Alt', true)
  await button('Arrow up', keys).tap()
  await held('Alt', false)
  await button('Alt', keys).tap()
  await held('Alt', true)
  await page.keyboard.type('x')
  await held('Alt', false)
  await keys.getByRole('button', { name: '~' }).scrollIntoViewIfNeeded()
  await page.waitForFunction(() => document.querySelector('.keys').dataset.more === 'before')
  await button('|', keys).tap()
  await button('/', keys).tap()
  await button('Page up', keys).tap()
  await button('Home', keys).tap()
  await button('Tab', keys).tap()
  await page.keyboard.press('Enter')
  await seen(page, /^\^\[\[1;5C\^\[\[1;3A\^\[x\|\/\^\[\[5~\^\[[[O]H/)
  await shot(page, 'phone-keys')
  await button('^C', keys).tap()
  await prompted(page)
})

test('it works sideways', async () => {
  await page.setViewportSize({ width: 844, height: 390 })
  await page.waitForFunction(() => document.querySelector('.terminal-host').terminal.cols > 60)
  await becomes(() => page.evaluate(() => document.querySelector('.terminal-host').terminal.rows >= 9), true, 'there are 9 rows')
  await becomes(() => page.evaluate(() => document.querySelector('.keys').getBoundingClientRect().bottom <= 390.5), true, 'the keys are on the screen')
  assert.equal(await wider(), 0)
  const left = await page.evaluate(() => document.querySelector('.xterm-screen').getBoundingClientRect().left - document.querySelector('.workspace').getBoundingClientRect().left)
  assert.ok(left >= 12, `the first column is ${left} pixels beside the sidebar`)
  await shot(page, 'phone-sideways')
  await page.setViewportSize(phone.viewport)
})

test('each chip in the head of a workspace has one line and a place of its own', async () => {
  server.middleman('run', 'docs', '-d', '--name', 'helper', '-p', 'a-rather-long-helper')
  await page.goto(url('/w/docs/helper'))
  await phase(page, 'attached')
  await page.getByText('profile a-rather-long-helper').waitFor()
  await shot(page, 'phone-chips')
  const chips = await page.locator('.bar .chip > span').evaluateAll((all) => all.filter((span) => span.checkVisibility())
    .map((span) => ({ text: span.textContent, lines: Math.round(span.getBoundingClientRect().height / parseFloat(getComputedStyle(span).lineHeight)), over: span.getBoundingClientRect().right - span.parentElement.getBoundingClientRect().right })))
  for (const { text, lines, over } of chips) {
    assert.equal(lines, 1, text)
    assert.ok(over <= 0, `${text} is ${over} pixels wider than its chip`)
  }
  await page.goto(url('/w/docs/bash'))
  await phase(page, 'attached')
})

test('a drawer that is open closes when the page becomes wide', async () => {
  const columns = () => page.evaluate(() => document.querySelector('.terminal-host').terminal.cols)
  const narrow = await columns()
  await button('Show workspaces').tap()
  await page.locator('.scrim').waitFor()
  await page.setViewportSize({ width: 1280, height: 800 })
  await becomes(async () => await columns() > 100, true, 'the terminal has the width beside the sidebar')
  assert.equal(await page.locator('.scrim').count(), 0)
  await page.setViewportSize(phone.viewport)
  await becomes(columns, narrow)
  assert.equal(await page.locator('.scrim').count(), 0)
})

test('nothing critical or serious in the light theme either', async () => {
  await page.emulateMedia({ colorScheme: 'light' })
  await page.locator('html[data-theme=light]').waitFor()
  await shot(page, 'phone-light')
  assert.deepEqual(await findings(page), [])
  await page.goto(url())
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
  await shot(page, 'phone-home-light')
  assert.deepEqual(await findings(page), [])
})

test('no page complained, and no policy refused anything', () => {
  assert.deepEqual(complaints, [])
})
