// Tabs, the search of a terminal, its past, and what a program names as
// FILE:LINE.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { becomes, complaints, ended, launch, lines, patience, phase, prompted, run, seen, shot, watch } from './browser.mjs'
import { Server } from './server.mjs'

const desktop = { viewport: { width: 1280, height: 800 }, colorScheme: 'dark', reducedMotion: 'reduce' }
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: 'light', reducedMotion: 'reduce' }
const server = new Server()
let browser
let page

before(async () => {
  await server.start()
  browser = await launch()
  page = watch(await (await browser.newContext(desktop)).newPage())
})

after(async () => {
  await browser?.close()
  await server.cleanUp()
})

/** What no host of a session does otherwise: it is tested with the default one alone. */
const once = process.env.BACKEND ? () => {} : test

const url = (rest = '/') => `http://${server.address}${rest}`
const button = (name, on = page) => on.getByRole('button', { name, exact: true })
const textbox = (name, on = page) => on.getByRole('textbox', { name, exact: true })
const names = () => page.getByRole('tab').evaluateAll((tabs) => tabs.map((tab) => tab.title.split(' · ')[0]))

async function action(name, on = page) {
  await button('More actions', on).click()
  await button(name, on).click()
}

test('a command is run by sh -c as it was typed, and its session is named after its program', async () => {
  server.middleman('new', 'work', '-d', '--', 'bash', '--norc')
  await page.goto(server.loginLink.replace('/#', '/w/work#'))
  await phase(page, 'attached')
  await button('New session with a command').click()
  await textbox('Command').fill(`printf '%s|' "it's" 'a "b"  c' $((40+2)); exit 3`)
  await button('Start session').click()
  await ended(page, 'Exited with code 3')
  await seen(page, /^it's\|a "b" {2}c\|42\|$/)
  await becomes(names, ['bash', 'printf'])
})

once('a tab is renamed, moved and restarted; what it printed before stays', async () => {
  await page.getByRole('tab', { name: 'printf' }).dblclick()
  await textbox('Name').fill('facts')
  await button('Rename').click()
  await page.getByRole('tab', { name: 'facts' }).waitFor()
  await page.waitForURL('**/w/work/facts')
  await button('Restart facts').click()
  await page.getByRole('tab', { name: 'facts.1' }).waitFor()
  await page.waitForURL('**/w/work/facts')
  await ended(page, 'Exited with code 3')
  await seen(page, /^it's\|a "b" {2}c\|42\|$/)
  await becomes(names, ['bash', 'facts.1', 'facts'])
  await action('Move facts to the left')
  await becomes(names, ['bash', 'facts', 'facts.1'])
  await page.getByRole('tab', { name: 'bash' }).dragTo(page.getByRole('tab', { name: 'facts.1' }))
  await becomes(names, ['facts', 'facts.1', 'bash'])
  await page.reload()
  await page.getByRole('tab', { name: 'facts.1' }).waitFor()
  await becomes(names, ['facts', 'facts.1', 'bash'])
  await shot(page, 'tabs')
})

once('a session that is renamed elsewhere stays shown, and keeps the keys', async () => {
  server.middleman('run', 'work', '-d', '--name', 'second', '--', 'bash', '--norc') // another lives, which is not to be shown instead
  await page.getByRole('tab', { name: 'second' }).click()
  await phase(page, 'attached')
  for (const [from, to] of [['second', 'third'], ['third', 'fourth']]) {
    await run(page, `clear; is=${to}`)
    server.middleman('rename', `work/${from}`, to)
    await page.getByRole('tab', { name: to }).waitFor()
    await page.waitForURL(`**/w/work/${to}`)
    await run(page, 'clear; echo still-$is')
    await seen(page, new RegExp(`^still-${to}$`))
  }
  server.middleman('stop', 'work/fourth')
  await page.locator('.exit').waitFor()
})

once('the search matches case, whole words and regular expressions, and counts', async () => {
  await page.getByRole('tab', { name: 'bash' }).click()
  await phase(page, 'attached')
  await run(page, "clear; printf 'one One\\nstone 11\\n'; echo do''ne")
  await seen(page, /^done$/)
  await run(page, 'clear; printf "\\157ne One\\nst\\157ne 11\\n"; echo ready2') // the line that was typed has none of them
  await seen(page, /^ready2$/)
  await run(page, 'tput reset; printf "\\157\\156e \\117\\156e\\nst\\157\\156e 11\\nready\\063\\n"; read x')
  await seen(page, /^ready3$/) // the other lines were there before
  await page.keyboard.press('Control+Shift+F')
  const bar = page.getByRole('search')
  const count = (text) => bar.getByRole('status').getByText(text, { exact: true }).waitFor()
  await bar.getByRole('textbox').fill('one')
  await count('1 of 3')
  await button('Match case', bar).click()
  await count('1 of 2')
  await button('Whole words', bar).click()
  await count('1 of 1')
  await button('Match case', bar).click()
  await button('Whole words', bar).click()
  await button('Regular expression', bar).click()
  await bar.getByRole('textbox').fill('[oO]ne$|\\d\\d')
  await count('1 of 2')
  await bar.getByRole('textbox').fill('[')
  await count('no regex')
  await shot(page, 'search')
  await button('Regular expression', bar).click()
  await bar.getByRole('textbox').press('Escape')
  await page.keyboard.press('Enter')
})

/** Does something that has the past ask for a screen, and returns the first line of that, once it is shown. */
async function looked(act) {
  const answered = page.waitForResponse((r) => r.url().includes('/capture?'))
  await act()
  const [first] = (await (await answered).text()).split('\n')
  await page.waitForFunction((first) => document.querySelector('.past-screen').terminal.buffer.active.getLine(0)?.translateToString(true) === first, first)
  return first
}

/** In a page: holds the clock of a replay, until the test lets it go on. */
function holdReplay() {
  const [{ setInterval }, now] = [window, performance.now]
  let time = 0
  performance.now = () => time
  window.setInterval = (f, ms, ...rest) => {
    if (ms !== 300) return setInterval(f, ms, ...rest)
    window.goOn = (ms) => { time += ms; f() }
    return 0
  }
  window.letGo = () => Object.assign(window, { setInterval }) && Object.assign(performance, { now })
}

test('the past is on a slider, and replayed', async () => {
  const steps = 'for i in 1 2 3 4 5 6; do clear; sleep 0.3; echo step-$i; sleep 0.7; done; clear; echo at-the-end'
  server.middleman('run', 'work', '-d', '--name', 'steps', '--', 'sh', '-c', steps)
  server.middleman('wait', 'work/steps', '--exit', '--timeout', '60s')
  await page.getByRole('tab', { name: 'steps' }).click()
  await ended(page, 'Exited with code 0')
  await action('The past of steps…')
  await page.waitForFunction(() => document.querySelector('.past-screen')?.terminal.buffer.active.getLine(0)?.translateToString(true) === 'at-the-end')
  const slider = page.getByRole('slider', { name: 'When' })
  const found = new Map([[1000, 'at-the-end']])
  const lookAt = async (at) => found.get(at) ?? found.set(at, await looked(() => slider.fill(String(at)))).get(at)
  const number = (line) => (line === 'at-the-end' ? 7 : Number(line.match(/^step-(\d)$/)?.[1] ?? 0))
  // What is cleared is of no step until the next one is printed, however long that takes.
  const stepFrom = async (at, end) => {
    for (; at < end; at += 10) if (number(await lookAt(at))) return number(await lookAt(at))
    return 0
  }
  // However long each step took: what lies between two places that show steps further apart is looked at too.
  const between = async (from, first, to, last) => {
    if (to - from < 2 || last - first < 2) return
    const at = Math.floor((from + to) / 2)
    const is = await stepFrom(at, to) || last
    await between(from, first, at, is)
    await between(at, is, to, last)
  }
  await between(0, 0, 1000, 7)
  for (const step of ['step-2', 'step-3', 'step-4', 'step-5']) assert.ok([...found.values()].includes(step), `the slider showed ${[...found]}`)
  await shot(page, 'past')
  await looked(() => slider.fill('0'))
  await page.evaluate(holdReplay)
  await button('Play').click()
  await page.waitForFunction(() => window.goOn)
  const replayed = new Set()
  while (await button('Pause').count() > 0) { // it ends by itself
    replayed.add(await looked(() => page.evaluate(() => window.goOn(60)))) // of which the session had five times as much
  }
  await page.evaluate(() => window.letGo())
  for (const step of ['step-2', 'step-3', 'step-4', 'step-5']) assert.ok(replayed.has(step), `the replay showed ${[...replayed]}`)
  await page.waitForFunction(() => document.querySelector('.past-screen').terminal.buffer.active.getLine(0)?.translateToString(true) === 'at-the-end')
  await page.keyboard.press('Escape')
})

test('a search of all sessions leads to the place', async () => {
  await action('Search all sessions…')
  const form = page.getByRole('dialog', { name: 'Search all sessions' })
  await textbox('Text', form).fill('STEP-3')
  await button('Search', form).click()
  await form.getByText('1 line in').waitFor()
  await shot(page, 'search-all')
  await button('step-3', form).click()
  await page.getByText('When the line was printed last').waitFor()
  await page.waitForFunction(() => document.querySelector('.past-screen')?.terminal.buffer.active.getLine(0)?.translateToString(true) === 'step-3')
  await page.keyboard.press('Escape')
  await action('Search all sessions…')
  await textbox('Text', form).fill('STEP-3')
  await form.getByLabel('Match case').check()
  await button('Search', form).click()
  await form.getByText('0 lines in').waitFor()
  await page.keyboard.press('Escape')
})

once('FILE:LINE in a terminal leads to that line of the changes', async () => {
  const path = server.middleman('path', 'work').trim()
  writeFileSync(join(path, 'shop.go'), Array.from({ length: 300 }, (_, i) => `// line ${i + 1}`).join('\n') + '\n')
  await page.getByRole('tab', { name: 'bash' }).click()
  await phase(page, 'attached')
  await prompted(page)
  await run(page, "clear; printf '漢字 ./shop.go:\\062\\060\\060:5: wrong\\n'; read x")
  await seen(page, /shop\.go:200:5: wrong$/)
  const cell = await page.evaluate(() => {
    const { terminal } = document.querySelector('.terminal-host')
    const box = document.querySelector('.xterm-screen').getBoundingClientRect()
    return { x: box.x, y: box.y, width: box.width / terminal.cols, height: box.height / terminal.rows }
  })
  await page.mouse.move(cell.x + cell.width * 8.5, cell.y + cell.height * 0.5) // the first row has it
  await page.locator('.xterm-cursor-pointer').waitFor()
  await page.mouse.click(cell.x + cell.width * 8.5, cell.y + cell.height * 0.5)
  await page.getByText('// line 200', { exact: true }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/changes/work/bash')
  await page.getByText('// line 1', { exact: true }).waitFor({ state: 'detached' })
  await page.getByRole('tab', { name: 'bash' }).click()
  await phase(page, 'attached')
  await page.keyboard.press('Enter')
})

once('the page is split in columns and rows, and stays so', async () => {
  const lastOf = (name) => page.evaluate((name) => {
    const pane = [...document.querySelectorAll('[role=tabpanel]')].find((p) => p.getAttribute('aria-label') === `Terminal of ${name}`)
    const buffer = pane?.querySelector('.terminal-host')?.terminal.buffer.active
    for (let i = (buffer?.length ?? 0) - 1; i >= 0; i--) if (buffer.getLine(i).translateToString(true)) return buffer.getLine(i).translateToString(true)
    return ''
  }, name)
  const says = async (name, pattern, until = Date.now() + patience) => {
    for (let last; ; await page.waitForTimeout(50)) { // several terminals have no one event
      last = await lastOf(name)
      if (pattern.test(last)) return
      if (Date.now() > until) throw new Error(`${name} shows ${last}`)
    }
  }
  for (const name of ['one', 'two', 'three']) server.middleman('run', 'work', '-d', '--name', name, '--', 'sh', '-c', `echo ${name}; while read x; do echo "${name} got $x"; done`)
  await page.goto(url('/w/work/one'))
  await phase(page, 'attached')
  const panes = page.getByRole('tabpanel')
  const shown = () => panes.evaluateAll((all) => all.map((p) => p.getAttribute('aria-label').replace('Terminal of ', '')))
  const split = async (where, name) => { // what it begins with is the chosen one, and has the keys
    const before = await shown()
    await action(where)
    await page.waitForFunction(({ name, panes }) => {
      const keys = document.activeElement.closest('.pane-frame.chosen [role=tabpanel]')
      return keys && keys.getAttribute('aria-label') !== `Terminal of ${name}` && document.querySelectorAll('[role=tabpanel]').length === panes
    }, { name, panes: before.length + 1 })
  }
  await split('Split to the right', 'one')
  await page.getByRole('tab', { name: 'two' }).click() // in place of what the split began with
  await page.getByRole('tabpanel', { name: 'Terminal of two' }).waitFor()
  assert.deepEqual(await shown(), ['one', 'two'])
  await split('Split below', 'two')
  await page.getByRole('tab', { name: 'three' }).click()
  await page.getByRole('tabpanel', { name: 'Terminal of three' }).waitFor()
  assert.deepEqual(await shown(), ['one', 'two', 'three'])
  await page.waitForFunction(() => document.querySelectorAll('.screen[data-phase=attached]').length === 3)
  await page.keyboard.type('hello\n')
  await says('three', /^three got hello$/)
  await page.getByRole('tabpanel', { name: 'Terminal of one' }).click()
  await page.waitForURL('**/w/work/one')
  await page.keyboard.type('again\n')
  await says('one', /^one got again$/)
  const box = async (name) => page.getByRole('tabpanel', { name: `Terminal of ${name}` }).boundingBox()
  const [one, two, three] = await Promise.all(['one', 'two', 'three'].map(box))
  assert.ok(one.x + one.width <= two.x && one.height > two.height && two.x === three.x && two.y + two.height <= three.y, JSON.stringify({ one, two, three }))
  await shot(page, 'splits')
  await page.reload()
  await page.waitForFunction(() => document.querySelectorAll('.screen[data-phase=attached]').length === 3)
  await button('Close the split of two').click()
  await button('Close the split of three').click()
  await page.waitForFunction(() => document.querySelectorAll('[role=tabpanel]').length === 1)
  for (const name of ['one', 'two', 'three']) server.middleman('stop', `work/${name}`)
})

test('5,000 lines: all can be scrolled to, and each is there once', async () => {
  server.middleman('run', 'work', '-d', '--name', 'long', '--', 'sh', '-c', 'seq -f "row %g" 5000; echo printed; read -r x')
  server.middleman('wait', 'work/long', '--text', 'printed', '--timeout', '60s')
  await page.goto(url('/w/work/long'))
  await phase(page, 'attached')
  await seen(page, /^printed$/)
  const rows = async () => (await lines(page)).filter((line) => line.startsWith('row '))
  const atFirst = (await rows()).length
  assert.ok(atFirst < 5000, `${atFirst} lines are there before anybody scrolls`)
  await page.locator('.xterm-helper-textarea').focus()
  const top = () => page.evaluate(() => {
    const { active } = document.querySelector('.terminal-host').terminal.buffer
    return { y: active.viewportY, text: active.getLine(active.viewportY).translateToString(true) }
  })
  for (let at = await top(); at.text !== 'row 1'; at = await top()) {
    await page.keyboard.press('Shift+PageUp')
    await page.waitForFunction(({ y }) => { // it has scrolled, or older lines have come
      const { active } = document.querySelector('.terminal-host').terminal.buffer
      return active.viewportY !== y && !document.querySelector('.terminal-host.loading')
    }, at)
  }
  await phase(page, 'attached')
  assert.deepEqual(await rows(), Array.from({ length: 5000 }, (_, i) => `row ${i + 1}`))
  server.middleman('send', 'work/long', '--enter', 'x')
  await ended(page, 'Exited with code 0')
})

test('a session that was lost shows its last screen', async () => {
  const id = server.middleman('run', 'work', '-d', '--name', 'lost', '--', 'bash', '-c', 'seq 100; echo LAST; exec sleep 1000').trim()
  await page.getByRole('tab', { name: 'lost' }).click()
  await phase(page, 'attached')
  await seen(page, /^LAST$/)
  assert.ok(server.killSession(id) > 0)
  await page.getByText('Lost: its owner died without an exit record').first().waitFor()
  await page.reload()
  await page.getByText('Lost: its owner died without an exit record').first().waitFor()
  await seen(page, /^1$/)
  await seen(page, /^LAST$/)
})

once('on a phone: the actions of a session, and its past', async () => {
  const small = watch(await (await browser.newContext(phone)).newPage())
  await small.goto(server.newLink().replace('/#', '/w/work/steps#'))
  await ended(small, 'Exited with code 0')
  await button('More actions', small).tap()
  await shot(small, 'actions-phone')
  await button('The past of steps…', small).tap()
  await small.getByRole('slider', { name: 'When' }).waitFor()
  await small.waitForFunction(() => document.querySelector('.past-screen')?.terminal.buffer.active.getLine(0)?.translateToString(true) === 'at-the-end')
  await shot(small, 'past-phone')
  const wide = await small.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  assert.ok(wide <= 0, `the page is ${wide} pixels wider than the phone`)
})

const missing = (on) => on.locator('.banner').filter({ hasText: 'Press Esc or click to go on' })

/** A session whose program writes down each key; a shown Esc is left out of what it got. */
function takesKeys(name) {
  const file = join(server.root, name)
  server.middleman('new', name, '-d', '--', 'sh', '-c', `stty -icanon; exec cat >${file}`)
  return () => readFileSync(file, 'utf8').replaceAll('\x1b', '')
}

test('what is typed while the server is gone is told of, and nothing after it is sent before Esc', async () => {
  const got = takesKeys('hole')
  await page.goto(url('/w/hole'))
  await phase(page, 'attached')
  await page.keyboard.type('rm -rf /a')
  await becomes(got, 'rm -rf /a')
  await server.kill()
  await phase(page, 'disconnected')
  await page.getByText('Sessions do not need it, but whether they run is not known until it answers.').waitFor()
  await page.getByText('What you type is not sent.').waitFor()
  await page.keyboard.type('/b')
  await page.getByText('What you type is not sent: 2 keys so far.').waitFor()
  await shot(page, 'typed-while-gone')
  await server.start()
  await phase(page, 'attached')
  await page.keyboard.type('/c')
  await page.keyboard.press('Enter')
  await page.keyboard.insertText('pasted')
  await missing(page).getByText('Not connected while you typed: 11 keys were not sent').waitFor()
  await shot(page, 'keys-missing')
  await page.keyboard.press('Control+Shift+E')
  await textbox('Message').fill('composed')
  await button('Send').click()
  await page.getByRole('alert').getByText('so nothing was sent').waitFor()
  await button('Close the message').click()
  await becomes(async () => {
    await page.keyboard.press('Escape')
    return missing(page).count()
  }, 0)
  await page.keyboard.type('.')
  await becomes(got, 'rm -rf /a.')
})

once('keys whose arrival is not known are told of; a cut with no keys is not', async () => {
  const got = takesKeys('doubt')
  const other = watch(await page.context().newPage())
  let [answers, socket] = [true]
  await other.routeWebSocket(/\/terminal\?/, (client) => {
    const there = client.connectToServer()
    there.onMessage((message) => { if (answers || !/"pong"/.test(message)) client.send(message) })
    socket = client
  })
  await other.goto(url('/w/doubt'))
  await phase(other, 'attached')
  await other.keyboard.type('ab')
  await becomes(got, 'ab')
  answers = false // the one to what was typed first may be on its way
  await other.keyboard.type('cde')
  await becomes(got, 'abcde')
  answers = true
  await socket.close({ code: 4000 })
  await missing(other).getByText(/the last [3-5] keys may not have arrived/).waitFor()
  await other.keyboard.type('f')
  await missing(other).getByText(/1 key was not sent, and [3-5] keys before may not have arrived/).waitFor()
  await button('Go on', other).click()
  await other.keyboard.type('g')
  await becomes(got, 'abcdeg')
  const before = socket
  await other.evaluate(() => new Promise((next) => setTimeout(next, 100)))
  await socket.close({ code: 4000 })
  await becomes(() => socket !== before, true)
  await phase(other, 'attached')
  await other.keyboard.type('h')
  await becomes(got, 'abcdegh')
  await other.close()
})

once('long names that differ at their ends are told apart in the sidebar', async () => {
  const name = 'task-with-a-rather-long-name-20'
  server.middleman('new', name, '-d')
  const row = page.locator('.sidebar').getByRole('link', { name: new RegExp(`${name}/bash`) })
  await row.waitFor()
  assert.match(await row.getAttribute('title'), new RegExp(`^${name}/bash\n\\w`))
  const [drawn, room] = await row.evaluate((item) => {
    const parts = [...item.querySelectorAll('[data-text]')]
    const [, end] = parts
    return [parts.map((p) => [p.dataset.text, p.scrollWidth > p.clientWidth]),
      item.querySelector('.item-name').getBoundingClientRect().right - end.getBoundingClientRect().right]
  })
  assert.deepEqual(drawn, [['task-with-a-rather-long-nam', true], ['e-20/bash', false]])
  assert.ok(room >= 0, `the end of the name is cut by ${-room} pixels`)
  await shot(page, 'long-name')
})

test('no page complained, and no policy refused anything', () => {
  assert.deepEqual(complaints, [])
})
