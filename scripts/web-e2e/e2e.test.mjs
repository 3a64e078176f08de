// The web client against the real binary. The tests build on each other, in
// order, as a user's afternoon would.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { complaints, ended, inOrder, launch, lines, palette, patience, prompted, run, seen, shot, phase, toasted, watch } from './browser.mjs'
import { Server } from './server.mjs'

const desktop = { viewport: { width: 1280, height: 800 }, colorScheme: 'dark', reducedMotion: 'reduce' }
const server = new Server()
let browser
let context
let page
let path // of the workspace
let shellPID

before(async () => {
  await server.start()
  browser = await launch()
  context = await browser.newContext(desktop)
  page = watch(await context.newPage())
})

after(async () => {
  await browser?.close()
  await server.cleanUp()
})

const test = inOrder(async () => page && shot(page, 'failed'))

/** What no host of a session does otherwise: it is tested with the default one alone. */
const once = process.env.BACKEND ? () => {} : test

const url = (rest = '/') => `http://${server.address}${rest}`
const textbox = (name, on = page) => on.getByRole('textbox', { name, exact: true })
const button = (name, on = page) => on.getByRole('button', { name, exact: true })

once('without a login the page says how to get one', async () => {
  const context = await browser.newContext(desktop)
  const page = watch(await context.newPage())
  await page.goto(url())
  await page.getByText('middleman open').waitFor()
  await shot(page, 'login')
  await page.setViewportSize({ width: 390, height: 780 })
  await shot(page, 'login-phone')
  await context.close()
})

test('the printed link logs in, once', async () => {
  const sent = []
  page.on('request', (request) => sent.push(`${request.url()} ${JSON.stringify(request.headers())}`))
  const secret = server.loginLink.split('=')[1]
  await page.goto(server.loginLink)
  await welcome(page).waitFor()
  assert.equal(page.url(), url(), 'the secret must not stay in the address')
  assert.equal(await page.evaluate(() => history.length), 2, 'nor in the way back: about:blank and the page')
  assert.deepEqual(sent.filter((line) => line.includes(secret)), [], 'no address or header carries it')
  assert.deepEqual(await context.cookies(), [])
  await shot(page, 'empty')
  await page.reload()
  await welcome(page).waitFor()
  const again = watch(await (await browser.newContext(desktop)).newPage())
  await again.goto(server.loginLink)
  await again.getByText('This browser has no login for').waitFor()
  await again.getByText('was used before').waitFor()
  await shot(again, 'login-used')
  await again.context().close()
})

once('a link that is used up takes no login away, and a new one replaces it', async () => {
  const before = logins()
  const second = watch(await context.newPage())
  await second.goto(server.loginLink)
  await toasted(second, 'was used before')
  await welcome(second).waitFor()
  assert.deepEqual(logins(), before)
  const answered = second.waitForResponse((r) => r.request().method() === 'DELETE')
  await second.goto(server.newLink()) // in the same document: only the fragment changes
  await answered
  assert.equal(second.url(), url())
  const after = logins()
  assert.equal(after.length, 1)
  assert.notDeepEqual(after, before)
  await second.reload()
  await welcome(second).waitFor()
  await second.close()
  await page.reload()
  await welcome(page).waitFor()
})

const welcome = (page) => page.getByRole('heading', { name: /Terminals that outlive/ })
const logins = () => JSON.parse(server.middleman('login', 'list', '--json')).logins.map((login) => login.id)

once('a link is pasted or typed, and other addresses lead to the one that is logged in', async () => {
  const context = await browser.newContext(desktop)
  const page = watch(await context.newPage())
  await page.goto(url())
  await textbox('Link, or the code at its end', page).fill('wrong')
  await button('Log in', page).click()
  await page.getByText('That is not a login link').waitFor()
  await textbox('Link, or the code at its end', page).fill(server.loginLink)
  await button('Log in', page).click()
  await page.getByText('was used before').waitFor()
  const code = server.newLink().split('=')[1].toLowerCase().replace(/.{4}/g, '$& ')
  await textbox('Link, or the code at its end', page).fill(code)
  await button('Log in', page).click()
  await welcome(page).waitFor()
  const port = new URL(url()).port
  for (const host of ['127.0.0.1', 'localhost', 'middleman-aaaaaaaaaaaaaaaa.localhost']) { // the last is of a server before
    await page.goto(`http://${host}:${port}/`)
    await welcome(page).waitFor()
    assert.equal(page.url(), url())
  }
  await context.close()
})

once('logins are listed, and one that is revoked ends what it has open', async () => {
  const context = await browser.newContext(desktop)
  const other = watch(await context.newPage())
  await other.goto(server.newLink())
  await welcome(other).waitFor()
  await page.reload()
  await welcome(page).waitFor()
  await palette(page, 'Logins')
  const dialog = page.getByRole('dialog', { name: 'Logins' })
  await dialog.getByText('(this one)').waitFor()
  await shot(page, 'logins')
  const mine = await other.evaluate(() => new Promise((resolve) => {
    indexedDB.open('middleman').onsuccess = (opened) =>
      (opened.target.result.transaction('login').objectStore('login').get('this').onsuccess = (got) => resolve(got.target.result.id))
  }))
  server.middleman('login', 'revoke', mine)
  await other.getByText('This browser has no login for').waitFor()
  await button('Close', dialog).first().click()
  const left = page.waitForEvent('load') // the page is left, perhaps after the server has said that the login has ended
  await palette(page, 'Log out')
  await left
  await page.getByText('This browser has no login for').waitFor()
  assert.equal(await page.evaluate(async () => (await indexedDB.databases()).length), 1)
  await page.goto(server.newLink())
  await welcome(page).waitFor()
  await context.close()
})

test('the dialog makes a workspace, and a shell in it is attached', async () => {
  await page.getByRole('main').getByRole('button', { name: 'New workspace' }).click()
  await page.getByRole('combobox', { name: 'Repository' }).fill(server.repository)
  await textbox('Name').fill('fix-login')
  await shot(page, 'new-workspace')
  await button('Create workspace').click()
  await phase(page, 'attached')
  assert.equal(new URL(page.url()).pathname, '/w/fix-login')
  await run(page, 'echo path=$PWD pid=$$')
  const match = await seen(page, /^path=(\/\S+) pid=(\d+)$/)
  path = match[1]
  shellPID = match[2]
  assert.ok(existsSync(join(path, 'README')), `${path} is not a worktree of the repository`)
})

once('a refused workspace is explained in the dialog', async () => {
  await button('New workspace').first().click()
  await page.getByRole('combobox', { name: 'Repository' }).fill(server.home)
  await button('Create workspace').click()
  await page.getByRole('dialog').getByRole('alert').waitFor()
  await shot(page, 'new-workspace-refused')
  await button('Cancel').click()
})

once('an answer that events have overtaken changes nothing', async () => {
  await page.route('**/api/v1/workspaces', async (route) => {
    if (route.request().method() !== 'POST') return route.continue()
    const response = await route.fetch()
    await page.locator('.sidebar .item-name').getByText(/^scratch\//).waitFor() // the event: its session is there
    await route.fulfill({ response, json: { workspace: { ...(await response.json()).workspace, state: 'creating' } } })
  })
  await button('New workspace').first().click()
  await page.getByText('A new, empty directory').click()
  await textbox('Name').fill('scratch')
  await button('Create workspace').click()
  await page.getByRole('heading', { name: 'scratch' }).waitFor()
  await phase(page, 'attached')
  await page.unroute('**/api/v1/workspaces')
  await button('Delete workspace').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Stop this session').check()
  await button('Delete workspace', dialog).click()
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
  await shot(page, 'overview')
  await page.locator('.sidebar').getByRole('link', { name: /^fix-login/ }).click()
  await phase(page, 'attached')
})

once('a recording is downloaded by an address that works once', async () => {
  const downloading = page.waitForEvent('download')
  await palette(page, 'Download recording')
  const download = await downloading
  assert.equal(download.suggestedFilename(), 'fix-login-bash.cast')
  assert.match(readFileSync(await download.path(), 'utf8'), /^{"version":2,/)
  const again = await fetch(download.url())
  assert.equal(again.status, 401)
})

once('typing keeps the login in use', async () => {
  await page.route('**/api/v1/login/access', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), expires_in: 60 } }) // the margin: at once
  })
  await page.reload()
  await phase(page, 'attached')
  await page.getByText('Connected', { exact: true }).waitFor()
  const status = /\/workspaces\/[^/]+\?status=1$/
  let goOn
  const asks = await new Promise((resolve) => { // from here on nothing but the typing needs a token
    page.route(status, async (route) => {
      resolve(route)
      await new Promise((go) => { goOn = go })
      await route.continue()
    })
  })
  const signed = page.waitForResponse('**/api/v1/login/access')
  await run(page, 'echo us""ed')
  await seen(page, /^used$/)
  await signed
  await page.unroute('**/api/v1/login/access')
  goOn()
  await (await asks.request().response()).finished()
  await page.unroute(status)
})

test('resizing the window resizes the program’s terminal', async () => {
  for (const [width, height] of [[900, 500], [1400, 900], [1280, 800]]) {
    await page.setViewportSize({ width, height })
    const { cols, rows } = await settledSize()
    await run(page, `echo is "$(stty size)" for ${width}`)
    const [, got] = await seen(page, new RegExp(`^is (\\d+ \\d+) for ${width}$`))
    assert.equal(got, `${rows} ${cols}`)
  }
})

/** The terminal's size, once two frames have not changed it. */
function settledSize() {
  return page.evaluate(async () => {
    const { terminal } = document.querySelector('.terminal-host')
    const frame = () => new Promise(requestAnimationFrame)
    for (let same = 0, last = ''; same < 5;) {
      await frame()
      const now = `${terminal.cols} ${terminal.rows}`
      same = now === last ? same + 1 : 0
      last = now
    }
    return { cols: terminal.cols, rows: terminal.rows }
  })
}

test('a paste of 200 KB arrives whole and in order', async () => {
  const text = Array.from({ length: 2500 }, (_, i) => `${i} ${'x'.repeat(i % 60)} ${'äß漢😀'.repeat(5)}`).join('\n') + '\n'
  assert.ok(Buffer.byteLength(text) > 200_000)
  await run(page, 'stty -echo; echo rea""dy; md5sum; stty echo')
  await seen(page, /^ready$/)
  await page.evaluate((text) => {
    const data = new DataTransfer()
    data.setData('text/plain', text)
    document.querySelector('.xterm-helper-textarea')
      .dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
  }, text)
  await page.keyboard.press('Control+D')
  const [, sum] = await seen(page, /^([0-9a-f]{32}) {2}-$/)
  assert.equal(sum, createHash('md5').update(text).digest('hex'))
})

test('wide characters take the columns that programs count', async () => {
  await run(page, "clear; printf '\\346\\227\\245\\346\\234\\254|\\n\\360\\237\\221\\251\\342\\200\\215\\360\\237\\221\\251|\\ne\\314\\201|\\n'")
  await seen(page, /^e\u0301\|$/)
  const columns = await page.evaluate(() => {
    const buffer = document.querySelector('.terminal-host').terminal.buffer.active
    const bar = (line) => Array.from({ length: 10 }, (_, x) => line.getCell(x).getChars()).indexOf('|')
    return Array.from({ length: buffer.length }, (_, y) => bar(buffer.getLine(y))).filter((x) => x >= 0).slice(-3)
  })
  assert.deepEqual(columns, [4, 2, 1])
})

test('the clipboard: set by a program, selected, pasted, and never read by a program', async () => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await run(page, "clear; printf 'select-me\\n\\033]52;c;%s\\007' $(printf 'from a program' | base64)")
  await seen(page, /^select-me$/)
  await clipboard('from a program')
  const screen = await page.locator('.xterm-screen').boundingBox()
  await page.mouse.dblclick(screen.x + 20, screen.y + 8)
  await clipboard('select-me')
  await page.keyboard.type('echo pasted-')
  await page.keyboard.press('Control+Shift+V')
  await seen(page, /echo pasted-select-me$/) // the browser pastes when it likes
  await page.keyboard.press('Enter')
  await seen(page, /^pasted-select-me$/)
  await run(page, "stty -echo; printf '\\033]52;c;?\\007\\033[5n'; IFS= read -rs -t 60 -d n x; stty echo; echo \"got[${x#?}]\"") // the second question is answered
  await seen(page, /^got\[\[0\]$/)
})

/** Waits until the clipboard holds text; a browser has no event for that. */
async function clipboard(text, on = page) {
  const until = Date.now() + patience
  for (let have; have !== text; await on.waitForTimeout(50)) {
    have = await on.evaluate(() => navigator.clipboard.readText())
    assert.ok(have === text || Date.now() < until, `the clipboard holds ${JSON.stringify(have)}, not ${JSON.stringify(text)}`)
  }
}

once('a session whose policy is to deny sets no clipboard, however its program writes the command', async () => {
  const commands = ['\x1b]52', '\x1b\0]52', '\x1b\x7f]52', '\x1b\x0e]52', '\x1b\n]52', '\x1b]5\x002', '\x1b]5\x7f2', '\u009d52', '\x1b]4294967348']
  const octal = (text) => [...Buffer.from(text)].map((b) => `\\${b.toString(8).padStart(3, '0')}`).join('')
  const printed = commands.map((command) => octal(`${command};c;${Buffer.from('denied').toString('base64')}\x07`)).join('')
  server.middleman('new', 'denying', '-d', '--clipboard', 'deny', '--', 'sh', '-c', `read x; printf '${printed}denied\\r\\n'; read x`)
  await page.evaluate(() => navigator.clipboard.writeText('as before'))
  const denied = watch(await context.newPage())
  await denied.goto(url('/w/denying'))
  await phase(denied, 'attached')
  await denied.keyboard.press('Enter')
  await seen(denied, /denied$/)
  await clipboard('as before', denied)
  assert.equal(await denied.locator('.wanted').count(), 0)
  await denied.close()
  server.middleman('stop', 'denying')
  server.middleman('rm', 'denying')
})

once('a session whose policy is to ask sets the clipboard once somebody agrees', async () => {
  const set = (text) => `printf '\\033]52;c;${Buffer.from(text).toString('base64')}\\007asked\\r\\n'; read x`
  const program = `read x; ${set('ignored')}; ${set('first')}; ${set('one two\nthree \u202e\u3164❤️')}; ${set('unseen')}`
  server.middleman('new', 'asking', '-d', '--clipboard', 'ask', '--', 'sh', '-c', program)
  await page.evaluate(() => navigator.clipboard.writeText('as before'))
  const asked = watch(await context.newPage())
  await asked.goto(url('/w/asking'))
  await phase(asked, 'attached')
  const card = asked.getByRole('dialog', { name: 'asking/sh wants to set your clipboard' })
  await asked.keyboard.press('Enter')
  await card.getByText('7 characters').waitFor()
  await button('Ignore', card).click()
  await card.waitFor({ state: 'detached' })
  await clipboard('as before', asked)
  await asked.keyboard.press('Enter') // the terminal has the focus again
  await card.getByText('first').waitFor()
  await asked.keyboard.press('Enter') // is the program's, and no answer
  await card.getByText('18 characters: one two\\nthree \\u{202e}\\u{3164}❤️').waitFor()
  await shot(asked, 'clipboard-card')
  await asked.setViewportSize({ width: 390, height: 780 })
  await shot(asked, 'clipboard-card-phone')
  await clipboard('as before', asked)
  await button('Copy', card).click()
  await clipboard('one two\nthree \u202e\u3164❤️', asked)
  const watcher = watch(await context.newPage())
  await watcher.goto(url('/w/asking'))
  await button('Watch', watcher).click()
  await phase(watcher, 'watching')
  await asked.bringToFront()
  await asked.keyboard.press('Enter')
  await card.getByText('unseen').waitFor()
  await watcher.waitForFunction(() => document.querySelector('.terminal-host').terminal.buffer.active.cursorY === 8)
  assert.equal(await watcher.locator('.wanted').count(), 0, 'a watcher is not asked')
  await watcher.close()
  await asked.close()
  server.middleman('stop', 'asking')
  server.middleman('rm', 'asking')
  await page.bringToFront()
})

once('the search finds text and returns to the terminal', async () => {
  await page.keyboard.press('Control+Shift+F')
  await page.getByRole('search').getByRole('textbox').fill('select-me')
  await page.getByText(/of \d/).waitFor()
  await page.keyboard.press('Escape')
  await run(page, 'echo ba""ck')
  await seen(page, /^back$/)
})

test('a flood of output is followed to its last line', async () => {
  await run(page, 'seq 1 1000000; echo floo""ded')
  await seen(page, /^flooded$/)
  const numbers = (await lines(page)).filter((line) => /^\d+$/.test(line))
  assert.equal(numbers.at(-1), '1000000')
})

const kills = process.env.MIDDLEMAN_LONG ? 10 : 1

test('kill -9 of the server: the text goes on, each line exactly once', async () => {
  for (let kill = 1; kill <= kills; kill++) {
    const [killed, printed, back] = ['killed', 'printed', 'back'].map((name) => join(server.root, `${name}-${kill}`))
    const script = join(server.root, `count-${kill}`)
    writeFileSync(script, `for i in $(seq 1 400); do
	echo "${kill}n$i"
	case $i in
	150) until [ -e ${killed} ]; do sleep 0.01; done ;;
	300) >${printed}; until [ -e ${back} ]; do sleep 0.01; done ;;
	esac
done
`)
    await run(page, `clear; sh ${script}; echo co""unted-${kill} $$`)
    await seen(page, new RegExp(`^${kill}n100$`))
    await server.kill()
    await phase(page, 'disconnected')
    writeFileSync(killed, '')
    await page.getByText('Reconnecting').first().waitFor()
    await shot(page, 'server-killed')
    await exists(printed)
    await server.start()
    await phase(page, 'attached')
    writeFileSync(back, '')
    const [, pid] = await seen(page, new RegExp(`^counted-${kill} (\\d+)$`))
    assert.equal(pid, shellPID, 'the shell must not have noticed')
    const numbers = (await lines(page)).filter((line) => line.startsWith(`${kill}n`))
    assert.deepEqual(numbers, Array.from({ length: 400 }, (_, i) => `${kill}n${i + 1}`))
    await page.getByText('Connected', { exact: true }).waitFor()
    await shot(page, 'server-back')
  }
})

/** Waits until a program has made a file. */
async function exists(file) {
  for (const until = Date.now() + patience; !existsSync(file); await new Promise((next) => setTimeout(next, 20))) {
    assert.ok(Date.now() < until, `there is no ${file}`)
  }
}

test('a query is answered at most once, whoever answers it', async () => {
  const script = join(server.root, 'ask.mjs')
  const killed = join(server.root, 'asked-killed')
  const enough = join(server.root, 'asked-enough')
  // It asks one thing at a time. Only the end of the server can lose an answer: what gets none within 5 s of it may be lost.
  writeFileSync(script, `
    import { existsSync } from 'node:fs'
    let asked = 0, answers = 0, other = '', answered = () => {}
    process.stdin.setRawMode(true)
    process.stdin.on('data', (d) => {
      const text = d.toString('latin1')
      answers += text.split('\\x1b[0n').length - 1
      other += text.replaceAll('\\x1b[0n', '')
      answered()
    })
    const wait = (ms) => new Promise((done) => setTimeout(done, ms))
    const dead = (async () => { while (!existsSync(${JSON.stringify(killed)})) await wait(50) })()
    for (let left = 20; left > 0; ) {
      if (++asked === 20) console.log('asking')
      const answer = new Promise((done) => { answered = done })
      process.stdout.write('\\x1b[5n')
      await Promise.race([answer, dead.then(() => wait(5000))])
      await wait(10)
      if (existsSync(${JSON.stringify(enough)})) left--
    }
    for (let tries = 0; answers < asked - 2 && tries < 1000; tries++) await wait(50) // late ones count
    await wait(1000)
    console.log('asked=' + asked + ' answers=' + answers + ' other=' + JSON.stringify(other))
    process.exit()
  `)
  await run(page, `clear; ${process.execPath} ${script}`)
  await seen(page, /^asking$/)
  await server.kill()
  writeFileSync(killed, '')
  await phase(page, 'disconnected')
  await server.start()
  await phase(page, 'attached')
  writeFileSync(enough, '')
  const [, asked, answers, other] = await seen(page, /^asked=(\d+) answers=(\d+) other=(.*)$/)
  assert.equal(other, '""', 'nothing but answers may be typed')
  // One may be under way when the server is killed, and one when the page is back.
  assert.ok(Number(answers) <= Number(asked) && Number(answers) >= Number(asked) - 2, `${answers} answers to ${asked} queries`)
})

test('a reload brings the screen back and types nothing', async () => {
  await run(page, 'clear; printf "\\033[c\\033[6n"; read -rs -t 60 -d R; clear; echo stays')
  await seen(page, /^stays$/)
  await prompted(page)
  const before = (await lines(page)).filter(Boolean)
  await page.reload()
  await phase(page, 'attached')
  await seen(page, /^stays$/)
  assert.deepEqual((await lines(page)).filter(Boolean).slice(-before.length), before)
})

once('a cut between the hello and its snapshot loses nothing', async () => {
  await page.goto(url())
  await server.free('fix-login/bash') // else the hello is a refusal
  const other = await context.newPage() // not watched: cutting in the middle is worth a complaint
  let connections = 0
  await other.routeWebSocket(/terminal/, (socket) => {
    const upstream = socket.connectToServer()
    if (++connections > 1) return
    upstream.onMessage((message) => {
      socket.send(message)
      upstream.close()
      socket.close()
    })
  })
  await other.goto(url('/w/fix-login'))
  await seen(other, /^stays$/)
  assert.equal(connections, 2)
  await other.close()
  await page.goto(url('/w/fix-login'))
  await phase(page, 'attached')
})

once('a window that found a writer joins when that one leaves', async () => {
  const second = watch(await context.newPage())
  await second.goto(url('/w/fix-login'))
  await second.getByRole('alertdialog', { name: 'Somebody else is typing here' }).waitFor()
  await page.goto(url())
  await phase(second, 'attached')
  await second.close()
  await page.goto(url('/w/fix-login'))
  await phase(page, 'attached')
})

once('a second window watches, takes over, and the first takes back', async () => {
  const second = watch(await context.newPage())
  await second.goto(url('/w/fix-login'))
  await second.getByRole('alertdialog', { name: 'Somebody else is typing here' }).waitFor()
  await shot(second, 'busy')
  await button('Watch', second).click()
  await phase(second, 'watching')
  await page.bringToFront()
  await run(page, 'echo fi""rst')
  await seen(second, /^first$/)
  await second.bringToFront()
  await button('Take over', second).click()
  await phase(second, 'attached')
  await run(second, 'echo se""cond')
  await seen(second, /^second$/)
  await page.bringToFront()
  await page.getByRole('alertdialog', { name: 'Taken over' }).waitFor()
  await shot(page, 'taken-over')
  await button('Take it back').click()
  await phase(page, 'attached')
  await seen(page, /^second$/)
  await run(page, 'echo mi""ne')
  await seen(page, /^mine$/)
  await second.close()
})

test('an exit is shown with its code, and can be read again later', async () => {
  await button('New session with a command').click()
  await textbox('Command').fill('sh -c "echo leaving; exit 7"')
  await textbox('Name').fill('leaver')
  await button('Start session').click()
  await ended(page, 'Exited with code 7')
  await seen(page, /^leaving$/)
  await shot(page, 'exited')
  await page.reload()
  await ended(page, 'Exited with code 7')
  await seen(page, /^leaving$/)
  await button('Remove').click()
  await page.getByRole('tab', { name: 'leaver' }).waitFor({ state: 'detached' })
})

test('a stopped session says by which signal', async () => {
  await button('New session with a command').click()
  await textbox('Command').fill('sleep 600')
  await textbox('Name').fill('sleeper')
  await button('Start session').click()
  await phase(page, 'attached')
  await button('Stop sleeper').click()
  await shot(page, 'stop')
  await button('Stop session').click()
  await ended(page, /Stopped \(SIG(HUP|TERM)\)/)
  await button('Remove').click()
  await page.getByRole('tab', { name: 'sleeper' }).waitFor({ state: 'detached' })
})

test('a bell in a session that nobody sees is marked until somebody looks', async () => {
  server.middleman('run', 'fix-login', '-d', '--name', 'ringer', '--', 'sh', '-c', 'read a; printf "\\a"; read b')
  const tab = page.getByRole('tab', { name: 'ringer' })
  await tab.waitFor()
  server.middleman('send', 'fix-login/ringer', '--enter', 'go')
  await tab.getByTitle('Bell').waitFor()
  await page.locator('.sidebar').getByTitle('Bell', { exact: true }).waitFor()
  await shot(page, 'bell')
  await tab.click()
  await phase(page, 'attached')
  await tab.getByTitle('Bell').waitFor({ state: 'detached' })
  await button('Stop ringer').click()
  await button('Stop session').click()
  await ended(page, /Stopped \(SIG(HUP|TERM)\)/)
  await button('Remove').click()
  await tab.waitFor({ state: 'detached' })
})

once('agents that need somebody are listed, named in the title, and told of', async () => {
  const program = join(server.root, 'claude')
  writeFileSync(program, `#!/bin/sh
while read -r line; do
	case $line in
	work) printf '\\033]0;\\342\\240\\202 Fix\\007' ;;
	ask) printf ' Do you want to proceed?\\n \\342\\235\\257 1. Yes\\n   2. No\\n' ;;
	idle) printf '\\033[2J\\033[H\\033]0;\\342\\234\\263 Fix\\007╭───╮\\n│ > │\\n╰───╯\\n' ;;
	esac
done
`, { mode: 0o700 })
  await context.grantPermissions(['notifications'])
  await page.reload()
  await page.evaluate(() => {
    window.told = []
    const real = window.Notification
    window.Notification = class extends real {
      constructor(title, options) { super(title, options); window.told.push(`${title}: ${options.body}`) }
    }
  })
  const notifying = async (on) => {
    await page.getByRole('button', { name: /^Notifications: / }).click()
    await page.getByRole('switch', { name: 'While a page is open', checked: !on }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Notifications' }).waitFor({ state: 'detached' })
    await button(`Notifications: ${on ? 'on' : 'off'}`).waitFor()
  }
  for (let i = 0; i < 5; i++) { // a switch is disabled while the browser is asked: Escape counts then too
    await notifying(true)
    await notifying(false)
  }
  await notifying(true)
  server.middleman('run', 'fix-login', '-d', '--name', 'helper', '--', program)
  const tab = page.getByRole('tab', { name: 'Fix' })
  server.middleman('send', 'fix-login/helper', '--enter', 'work')
  await page.getByTitle('helper · Working').waitFor()
  server.middleman('send', 'fix-login/helper', '--enter', 'ask')
  const needs = page.getByRole('region', { name: 'Needs you' })
  const row = needs.getByRole('link', { name: /fix-login\/helper/ })
  await row.waitFor()
  await row.getByText('Waiting for a permission: Do you want to proceed?').waitFor()
  await page.waitForFunction(() => document.title.startsWith('(1) '))
  await page.waitForFunction(() => window.told.includes('fix-login/helper: Waiting for a permission: Do you want to proceed?'))
  await shot(page, 'needs-you')
  await row.click()
  await phase(page, 'attached')
  assert.equal(await tab.getAttribute('aria-selected'), 'true')
  server.middleman('send', 'fix-login/helper', '--enter', 'idle')
  await needs.waitFor({ state: 'detached' })
  await page.waitForFunction(() => !document.title.startsWith('('))
  await notifying(false)
  server.middleman('stop', 'fix-login/helper')
  await ended(page, /Stopped \(SIG(INT|HUP|TERM)\)/)
  await button('Remove').click()
  await tab.waitFor({ state: 'detached' })
})

once('what an agent asks is shown with its diff, and answered once', async () => {
  const program = join(server.root, 'asker')
  const answer = join(server.root, 'answer')
  writeFileSync(program, `#!/bin/sh
while read -r file; do
	printf '{"hook_event_name":"PermissionRequest","cwd":"%s","tool_name":"Edit","tool_input":{"file_path":"%s","old_string":"the old line","new_string":"the new\\\\u202e line"}}' "$PWD" "$file" |
		'${process.env.MIDDLEMAN_BINARY}' approve --agent claude >${answer}
	echo "answered $file"
done
`, { mode: 0o700 })
  server.middleman('run', 'fix-login', '-d', '--name', 'asker', '--', program)
  const asks = page.getByRole('region', { name: 'Asks to be allowed' })
  const dialog = page.getByRole('dialog', { name: 'claude in fix-login/asker asks' })
  for (const [file, choice, behavior] of [['/etc/motd', 'Allow once', /"behavior":"allow"}/], ['/etc/issue', 'Deny', /"behavior":"deny","message":"not there"}/]]) {
    server.middleman('send', 'fix-login/asker', '--enter', file)
    await asks.getByRole('button', { name: `Edit: ${file}` }).click()
    await dialog.getByText('-the old line').waitFor()
    await dialog.getByText('+the new\\u{202e} line').waitFor()
    await dialog.getByText(`outside: ${file} is outside of the worktree`).waitFor()
    await textbox('With Deny: what the agent is told', dialog).fill('not there')
    await shot(page, 'approval')
    await button(choice, dialog).click()
    await dialog.waitFor({ state: 'detached' })
    await asks.waitFor({ state: 'detached' })
    server.middleman('wait', 'fix-login/asker', '--text', `answered ${file}`, '--timeout', '60s')
    assert.match(readFileSync(answer, 'utf8'), behavior)
  }
  // One that is answered elsewhere meanwhile.
  server.middleman('send', 'fix-login/asker', '--enter', '/etc/hosts')
  await asks.getByRole('button', { name: 'Edit: /etc/hosts' }).click()
  await dialog.waitFor()
  server.middleman('approve', '--yes')
  await page.getByRole('dialog', { name: 'This request waits no more' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('tab', { name: 'asker' }).click()
  await phase(page, 'attached')
  server.middleman('stop', 'fix-login/asker')
  await ended(page, /Stopped \(SIG(HUP|TERM)\)/)
  await button('Remove').click()
  await page.getByRole('tab', { name: 'asker' }).waitFor({ state: 'detached' })
})

test('full-screen programs and colours', async (t) => {
  await page.getByRole('tab').first().click()
  await phase(page, 'attached')
  await run(page, 'clear; for i in $(seq 0 255); do printf "\\033[48;5;${i}m%4d" $i; [ $(((i+1)%32)) = 0 ] && printf "\\033[m\\n"; done; ls --color=always /')
  await seen(page, /254 255$/)
  await prompted(page)
  await shot(page, 'colours')
  for (const [program, command, shows, quit] of [['vim', `vim -u NONE -c 'syntax on' -c 'set number' ${import.meta.filename}`, /1 \/\/ The web client against/, ':q!\r'], ['htop', 'htop', /Quit/, 'q']]) {
    if (!process.env.PATH.split(':').some((d) => existsSync(join(d, program)))) {
      t.diagnostic(`${program} is not here`)
      continue
    }
    await run(page, command)
    await page.waitForFunction(() => document.querySelector('.terminal-host').terminal.buffer.active.type === 'alternate')
    await seen(page, shows) // before that it may take no key
    if (process.env.ARTIFACTS) await page.waitForTimeout(700) // only for the picture
    await shot(page, program)
    await page.keyboard.type(quit)
    await page.waitForFunction(() => document.querySelector('.terminal-host').terminal.buffer.active.type === 'normal')
  }
})

once('tmux by hand, beside the browser', async (t) => {
  if (!process.env.PATH.split(':').some((d) => existsSync(join(d, 'tmux')))) return t.skip('tmux is not here')
  server.middleman('run', 'fix-login', '-d', '--backend', 'tmux', '--', 'bash', '--norc')
  await page.getByRole('tab', { name: 'bash-2' }).click()
  await phase(page, 'attached')
  const byHand = server.terminal(server.middleman('tmux', 'fix-login/bash-2').trim())
  try {
    await byHand.shows(/bash/)
    byHand.type('echo by-$((40+2))-hand')
    await seen(page, /^by-42-hand$/)
    await run(page, 'echo from-$((40+3))-browser')
    await seen(page, /^from-43-browser$/)
    await byHand.shows(/^from-43-browser$/m)
    await shot(page, 'tmux-by-hand')
  } finally {
    byHand.end()
  }
  await run(page, 'echo still-$((40+4))')
  await seen(page, /^still-44$/)
  await button('Stop bash-2').click()
  await button('Stop session').click()
  await ended(page, /Stopped \(SIG(HUP|TERM)\)/)
  await button('Remove').click()
  await page.getByRole('tab', { name: 'bash-2' }).waitFor({ state: 'detached' })
  await page.getByRole('tab').first().click()
  await phase(page, 'attached')
})

once('the palette jumps, and the terminal keeps its own keys', async () => {
  await run(page, 'echo c""at; cat -v')
  await seen(page, /^cat$/) // the shell takes keys no more
  await page.keyboard.press('Control+K')
  await seen(page, /^\^K$/)
  await page.keyboard.press('Control+Shift+K')
  await page.getByRole('combobox', { name: 'Jump to' }).fill('theme light')
  await shot(page, 'palette')
  await page.keyboard.press('Enter')
  await page.locator('html[data-theme=light]').waitFor()
  await shot(page, 'light')
  await palette(page, 'theme dark')
  await page.locator('html[data-theme=dark]').waitFor()
  await page.keyboard.press('Control+C') // the terminal has the focus again
  await prompted(page)
  await run(page, 'echo al""ive')
  await seen(page, /^alive$/)
})

once('a phone has a drawer and the keys that it lacks', async () => {
  const phone = await browser.newContext({
    viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, colorScheme: 'dark', reducedMotion: 'reduce',
  })
  const small = watch(await phone.newPage())
  await page.goto(url('/'))
  await small.goto(server.newLink().replace('/#', '/w/fix-login#'))
  await phase(small, 'attached')
  await run(small, 'echo sl""eeps; sleep 300')
  await seen(small, /^sleeps$/)
  await button('^C', small).tap()
  await seen(small, /^\^C/) // what is typed before is the program's, and a ^C drops it
  await run(small, 'echo cols=$(tput cols)')
  const [, columns] = await seen(small, /^cols=(\d+)$/)
  assert.ok(Number(columns) < 60, `${columns} columns on a phone`)
  await shot(small, 'phone')
  await button('Show workspaces', small).tap()
  await small.getByRole('link', { name: /^fix-login/ }).waitFor()
  await shot(small, 'phone-drawer')
  await small.getByRole('link', { name: /^fix-login/ }).tap()
  const wide = await small.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  assert.ok(wide <= 0, `the page is ${wide} pixels wider than the phone`)
  await phone.close()
})

once('a delete says what would be lost and takes each consent', async () => {
  writeFileSync(join(path, 'notes'), 'only here\n')
  writeFileSync(join(path, 'README'), 'A better shop.\n')
  await page.goto(url('/w/fix-login'))
  await phase(page, 'attached')
  await button('Delete workspace').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 changed file').waitFor()
  await dialog.getByText('1 untracked file').waitFor()
  await dialog.getByText('Still running').waitFor()
  const last = button('Delete workspace', dialog)
  assert.ok(await last.isDisabled())
  await shot(page, 'delete')
  await dialog.getByLabel('Discard this work').check()
  assert.ok(await last.isDisabled(), 'one consent is not the other')
  await button('Keep it', dialog).click()
  assert.ok(existsSync(join(path, 'notes')))
  await button('Delete workspace').click()
  await dialog.getByLabel('Discard this work').check()
  await dialog.getByLabel('Stop this session').check()
  await last.click()
  await page.getByRole('heading', { name: /Terminals that outlive/ }).waitFor()
  assert.ok(!existsSync(path), `${path} is still there`)
})

test('no page complained, and no policy refused anything', () => {
  assert.deepEqual(complaints, [])
})
