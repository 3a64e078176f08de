// Who needs the user: the lists and their order, badges and toasts, the ways to
// answer, the keyboard, and what axe finds.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { becomes, complaints, keepToasts, launch, lines, openPalette, palette, phase, prompted, run, seen, shot, watch } from './browser.mjs'
import { desktop, fakeAgent, findings } from './pages.mjs'
import { Server } from './server.mjs'

const server = new Server()
const agent = join(server.root, 'claude')
let browser
let context
let page

before(async () => {
  await server.start()
  browser = await launch()
  context = await browser.newContext(desktop)
  page = watch(await context.newPage())
  writeFileSync(agent, fakeAgent, { mode: 0o700 })
  server.middleman('new', 'fix-login', '-d', '--', agent)
  server.middleman('new', 'docs', '-d')
  server.middleman('new', 'build', '-d', '--', 'sh', '-c', 'while read -r line; do eval "$line"; done')
  server.middleman('new', 'old', '-d', '--', 'sh', '-c', 'exit 3')
  server.middleman('new', 'bare', '-d', '--no-session')
  await page.goto(server.newLink())
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
})

after(async () => {
  await browser?.close()
  await server.cleanUp()
})

const url = (rest = '/') => `http://${server.address}${rest}`
const button = (name, on = page) => on.getByRole('button', { name, exact: true })
const home = () => page.locator('.home')
const section = (name, on = home()) => on.getByRole('region', { name, exact: true })
const names = (on) => on.locator('.item-name').allTextContents()
const send = (session, line) => server.middleman('send', session, '--enter', line)

/** The names of rows, as the server sorts them. */
function order() {
  const { sessions, workspaces } = JSON.parse(server.middleman('ls', '--all', '--sessions', '--json'))
  const used = new Set(sessions.map((s) => s.workspace_id))
  return [...sessions.map((s) => ({ name: `${s.workspace_name}/${s.name}`, ...s.attention })),
    ...workspaces.filter((w) => !used.has(w.id)).map((w) => ({ name: w.label, ...w.attention }))]
    .sort((a, b) => (a.order < b.order ? -1 : 1)).map((r) => r.name)
}

test('the start page lists everything in the order of the server, who needs the user first', async () => {
  send('fix-login', 'ask')
  await section('Needs you').getByRole('link', { name: /fix-login\/claude/ }).waitFor()
  await section('Ended').getByRole('link', { name: /old\/sh/ }).waitFor()
  await becomes(() => home().locator('section').evaluateAll((all) => all.map((s) => s.ariaLabel)), ['Needs you', 'Ready', 'Working', 'Ended'])
  await becomes(() => names(home()), order)
  await becomes(() => names(page.locator('.sidebar nav')), order, 'the sidebar has the same order')
  await section('Needs you').getByText('Waiting for a permission: Do you want to proceed?').waitFor()
  await page.waitForFunction(() => document.title.startsWith('(1) ') && document.querySelector('link[rel=icon]').href.endsWith('/icon-needs.svg'))
  await shot(page, 'home')
})

test('lists are filtered, folded, grouped and pinned, and the browser remembers it', async () => {
  await page.getByRole('searchbox', { name: 'Filter the sessions' }).fill('ended old')
  await becomes(() => names(home()), ['old/sh'])
  await page.getByRole('searchbox', { name: 'Filter the sessions' }).fill('nowhere')
  await page.getByText('Nothing matches “nowhere”').waitFor()
  await page.getByRole('searchbox', { name: 'Filter the sessions' }).fill('')
  await section('Ended').getByRole('button', { name: /Ended/ }).click()
  await section('Ended').getByRole('link').first().waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /^docs\//, exact: false }).first().hover()
  await page.locator('.sidebar').getByTitle(/^Pin docs\//).click()
  await button('Grouped by need. Group by repository').click()
  const sidebar = page.locator('.sidebar nav')
  await section('shop', sidebar).waitFor()
  await page.reload()
  await section('Pinned', sidebar).waitFor()
  await becomes(() => names(section('Pinned', sidebar)), () => [order().find((name) => name.startsWith('docs/'))])
  await becomes(() => names(section('shop', sidebar)), () => order().map((name) => name.split('/')[0]).filter((name) => name !== 'docs'))
  await section('Ended').waitFor()
  assert.equal(await section('Ended').getByRole('link').count(), 0, 'it is still folded')
  await shot(page, 'home-grouped')
  await section('Ended').getByRole('button', { name: /Ended/ }).click()
  await button('Grouped by repository. Group by need').click()
  await section('Working', sidebar).waitFor()
})

test('a bell, a notification and an exit are told of, but not of what one looks at', async () => {
  await page.goto(url('/w/docs'))
  await phase(page, 'attached')
  const toast = (text) => page.locator('.toast').getByText(text)
  await keepToasts(page)
  send('build', `printf '\\a'`)
  await toast('build/sh: Its bell rang').waitFor()
  await shot(page, 'toast')
  send('build', `printf '\\033]9;tests are green\\007'`)
  await toast('build/sh: tests are green').waitFor()
  await button('Show', page.locator('.toast', { hasText: 'tests are green' })).click()
  await phase(page, 'attached')
  assert.equal(new URL(page.url()).pathname, '/w/build/sh')
  await page.evaluate(() => { // what its window passes on to the others, it has taken itself
    window.words = new BroadcastChannel('middleman.events')
    window.words.onmessage = ({ data }) => { window.heard ||= JSON.stringify(data).includes('nobody is told') }
  })
  send('build', `sleep 1.1; printf '\\033]9;nobody is told\\007'; echo printed`) // of two within a second the server tells one
  await seen(page, /^printed$/)
  await page.waitForFunction(() => window.heard)
  await page.locator('.sidebar').getByRole('link', { name: /^docs\// }).first().click()
  await page.getByRole('tabpanel', { name: 'Terminal of bash' }).waitFor()
  await phase(page, 'attached')
  send('build', 'exit 4')
  await toast('build/sh: Exited with code 4').waitFor()
  assert.deepEqual(await page.evaluate(() => window.toasts.filter((said) => said.includes('nobody is told'))), [])
  await page.locator('.sidebar').getByRole('link', { name: /^build\/sh/ }).click()
  await page.locator('.exit').getByText('Exited with code 4').waitFor()
  await toast('build/sh: Exited with code 4').waitFor({ state: 'detached' })
  await page.goto(url('/w/docs'))
  await phase(page, 'attached')
})

test('a text box sends a text in one go, keeps what was sent, and sends nothing to another screen', async () => {
  await prompted(page)
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.press('Control+Shift+E')
  const box = page.getByRole('textbox', { name: 'Message' })
  await box.fill('echo one-$((1+1))')
  await page.keyboard.press('Enter')
  await seen(page, /^one-2$/)
  await page.waitForFunction(() => document.querySelector('.composer textarea').value === '')
  await prompted(page)
  await page.keyboard.type('echo two-$((1+2)); read x; echo went-$((2+2))')
  await button('Send').click()
  await seen(page, /^two-3$/)
  await page.route('**/prompt', async (route) => { // what was printed meanwhile is not on the screen that the user saw
    send('docs', 'go on')
    server.middleman('wait', 'docs', '--text', 'went-4', '--timeout', '60s')
    await route.continue()
  })
  await box.fill('rm precious')
  await button('Send').click()
  await page.getByRole('alert').getByText('The screen has changed, so nothing was sent').waitFor()
  await shot(page, 'composer')
  assert.equal(await box.inputValue(), 'rm precious')
  await page.unroute('**/prompt')
  await box.fill('')
  await page.keyboard.press('ArrowUp')
  assert.equal(await box.inputValue(), 'echo two-$((1+2)); read x; echo went-$((2+2))')
  await page.keyboard.press('ArrowUp')
  assert.equal(await box.inputValue(), 'echo one-$((1+1))')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  assert.equal(await box.inputValue(), '')
  await page.keyboard.press('Escape')
  await run(page, 'echo ba""ck')
  await seen(page, /^back$/)
})

test('a request to be allowed shows its tool, arguments and diff', async () => {
  const program = join(server.root, 'asker')
  writeFileSync(program, `#!/bin/sh
read -r file
printf '{"hook_event_name":"PermissionRequest","cwd":"%s","tool_name":"Edit","tool_input":{"file_path":"%s","old_string":"the old line","new_string":"the new line"}}' "$PWD" "$file" |
	'${process.env.MIDDLEMAN_BINARY}' approve --agent claude >/dev/null
echo "answered $file"
read -r file
`, { mode: 0o700 })
  server.middleman('run', 'docs', '-d', '--name', 'asker', '--', program)
  send('docs/asker', '/etc/motd')
  await page.goto(url('/w/docs/asker'))
  await phase(page, 'attached')
  await page.getByRole('region', { name: 'The agent asks to be allowed' }).getByText('claude asks: Edit: /etc/motd').waitFor()
  await button('Look and answer').click()
  const dialog = page.getByRole('dialog', { name: 'claude in docs/asker asks' })
  await dialog.getByText('-the old line').waitFor()
  await dialog.getByText('Edit: all arguments').click()
  await dialog.getByText('old_string').waitFor()
  await dialog.getByText('the old line', { exact: true }).waitFor()
  await shot(page, 'approval-card')
  assert.deepEqual(await findings(page), [])
  await button('Allow once', dialog).click()
  await seen(page, /^answered \/etc\/motd$/)
  await page.getByRole('region', { name: 'The agent asks to be allowed' }).waitFor({ state: 'detached' })
})

test('the keyboard leaves the terminal, and lists its keys', async () => {
  await page.goto(url('/w/docs'))
  await phase(page, 'attached')
  await run(page, 'echo c""at; cat -v')
  await seen(page, /^cat$/) // the shell takes keys no more
  await page.keyboard.type('?')
  await seen(page, /^\?/)
  assert.equal(await page.getByRole('dialog').count(), 0, '? is the program’s')
  await page.keyboard.press('Control+Shift+O')
  await page.waitForFunction(() => document.activeElement.matches('.sidebar .item[aria-current]'))
  await page.keyboard.press('?')
  const help = page.getByRole('dialog', { name: 'Keys' })
  await help.getByText('Leave the terminal').waitFor()
  await shot(page, 'keys')
  await page.keyboard.press('Escape')
  await help.waitFor({ state: 'detached' })
  for (const [entry, there] of [['keys', () => help.waitFor()], ['stop session', () => page.getByRole('dialog', { name: /^Stop/ }).waitFor()],
    ['logins', () => page.getByRole('dialog', { name: 'Logins' }).waitFor()], ['write a message', () => page.locator('textarea[aria-label=Message]:focus').waitFor()]]) {
    await palette(page, entry)
    await there()
    await page.keyboard.press('Escape')
  }
  await page.locator('.xterm-helper-textarea:focus').waitFor({ state: 'attached' })
  await palette(page, 'leave the terminal')
  await page.waitForFunction(() => document.activeElement.matches('.sidebar .item'))
})

/** What a page keeps and shows, as text. */
const kept = (on) => on.evaluate(async () => {
  const rows = []
  for (const { name } of await indexedDB.databases()) {
    const db = await new Promise((resolve, reject) => Object.assign(indexedDB.open(name), { onsuccess: (e) => resolve(e.target.result), onerror: reject }))
    for (const store of db.objectStoreNames) {
      const all = db.transaction(store).objectStore(store).getAll()
      rows.push(await new Promise((resolve, reject) => Object.assign(all, { onsuccess: () => resolve(all.result), onerror: reject })))
    }
    db.close()
  }
  const caches_ = await Promise.all((await caches.keys()).map(async (name) => (await (await caches.open(name)).keys()).map((r) => r.url)))
  return JSON.stringify([rows, caches_, { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML])
})

test('sessions of another machine are listed, attached and driven, and go on while it is away', async () => {
  const box = new Server()
  const value = 'correct-horse-battery-staple'
  const answers = []
  const note = async (response) => { if (/json/.test(response.headers()['content-type'] ?? '')) answers.push(await response.text().catch(() => '')) }
  try {
    mkdirSync(join(box.home, 'config', 'secrets'), { mode: 0o700 })
    writeFileSync(join(box.home, 'config', 'secrets', 'model-key'), value, { mode: 0o600 })
    writeFileSync(join(box.home, 'config', 'policy.toml'), '[[rules]]\nname = "key"\nkind = "secret-ref"\nmatch = ["*"]\naction = "allow"\n', { mode: 0o600 })
    writeFileSync(join(box.root, 'team.json'), JSON.stringify({
      schema: 1, id: 'team', revision: 1, created: '2026-11-24T01:02:03Z',
      profiles: { count: { command: ['sh', '-c', 'echo "it has ${#MODEL_KEY}"; exec bash --norc'], uses: ['secret-ref:model-key'] } },
      declarations: [{ ref: 'secret-ref:model-key', env: 'MODEL_KEY' }],
    }))
    box.serveHubs()
    box.middleman('bundle', 'push', join(box.root, 'team.json'))
    box.middleman('new', 'far', '-d', '--mode', 'directory', '-p', 'team/count', '--sandbox', 'none')
    page.on('response', note)
    await page.goto(url())
    const never = [value, ...(await box.join(server, 'box'))]
    await section('Machines').getByText('Reachable since').waitFor()
    await section('Working').getByRole('link', { name: /box:far\/count/ }).click()
    await page.waitForURL('**/w/box%3Afar/count')
    await phase(page, 'attached')
    await seen(page, /^it has 28$/)
    await page.getByText('on box', { exact: true }).waitFor()

    await run(page, 'for i in $(seq 1 200); do echo "line-$i-"; sleep 0.01; done; echo all-$((1+1))')
    await seen(page, /^line-9-$/)
    box.middleman('server', 'stop')
    await phase(page, 'disconnected')
    await page.getByText(/^on box, unreachable since/).waitFor()
    await section('Machines', page.locator('.sidebar')).getByText(/Unreachable since .*, its list is as of/).waitFor()
    box.serveHubs()
    const asking = section('Machines', page.locator('.sidebar')).getByRole('button', { name: /^box/ }).click() // asks at once
    await Promise.any([asking, phase(page, 'attached')]) // its button goes where it was asked already
    asking.catch(() => {})
    await phase(page, 'attached')
    await seen(page, /^all-2$/)
    const counted = (await lines(page)).filter((line) => /^line-\d+-$/.test(line))
    assert.deepEqual(counted, Array.from({ length: 200 }, (_, i) => `line-${i + 1}-`), 'each line once')
    await page.getByText('on box', { exact: true }).waitFor()

    await button('New workspace').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Machine').selectOption('box')
    await dialog.getByText('Directory', { exact: true }).click()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('made')
    await dialog.getByRole('textbox', { name: 'Command' }).fill('cat')
    await button('Create workspace', dialog).click()
    await page.waitForURL('**/w/box%3Amade')
    await phase(page, 'attached')
    await run(page, 'there and back')
    await seen(page, /^there and back$/)
    assert.match(box.middleman('ls'), /^made /m)
    await button('Delete workspace').click()
    await page.getByRole('dialog').getByText('Still running').waitFor()
    await page.getByRole('dialog').getByRole('checkbox', { name: /^Stop this session/ }).check()
    await page.getByRole('dialog').locator('button.danger').click()
    await page.getByRole('link', { name: /box:made/ }).first().waitFor({ state: 'detached' })

    await page.goto(url('/w/box%3Afar/count'))
    await phase(page, 'attached')
    const action = async (title) => {
      await button('More actions').click()
      await button(title, page.getByRole('dialog')).click()
    }
    await action('Share count…')
    await page.getByRole('dialog').getByText(/open middleman on box itself/).waitFor()
    await page.keyboard.press('Escape')
    await action('Search all sessions…')
    const search = page.getByRole('dialog', { name: 'Search all sessions' })
    await search.getByRole('textbox', { name: 'Text' }).fill('there and back')
    await button('Search', search).click()
    await search.getByRole('heading', { name: 'box:made/cat (deleted)' }).waitFor()
    await page.keyboard.press('Escape')
    await action('Restore a deleted workspace…')
    await button('Restore box:made').click()
    await page.waitForURL('**/w/box%3Amade')
    assert.match(box.middleman('ls'), /^made /m)

    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(url())
    await section('Machines').getByText('Reachable since').waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
    assert.deepEqual(await findings(page), [])
    await shot(page, 'machines-phone')
    await page.goto(url('/w/box%3Afar/count'))
    await phase(page, 'attached')
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
    await page.setViewportSize(desktop.viewport)

    const logs = readFileSync(join(box.home, 'data', 'server.log'), 'utf8') + server.printed
    for (const secret of never) {
      assert.ok(!(await kept(page)).includes(secret), `the page keeps ${secret}`)
      assert.ok(!answers.some((text) => text.includes(secret)), `an answer has ${secret}`)
    }
    for (const secret of [value, never[1]]) assert.ok(!logs.includes(secret), `a log has ${secret}`)
    assert.ok(answers.some((text) => text.includes('box')), 'answers were looked at')
  } finally {
    page.off('response', note)
    if (/"box"/.test(server.middleman('runtime', 'list', '--json'))) server.middleman('runtime', 'rm', 'box')
    await box.cleanUp()
  }
})

test('a screen reader reads the terminal once it is let', async () => {
  await page.goto(url('/w/docs'))
  await phase(page, 'attached')
  const devtools = await context.newCDPSession(page)
  const read = async (text) => {
    const { nodes } = await devtools.send('Accessibility.getFullAXTree')
    return nodes.filter((n) => !n.ignored && n.name?.value?.includes(text)).map((n) => n.role.value)
  }
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.press('Control+C') // of the test before
  await prompted(page)
  await run(page, 'echo un""read')
  await seen(page, /^unread$/)
  assert.deepEqual(await read('unread'), [])
  await page.keyboard.press('Control+Shift+O')
  const offer = button('Let a screen reader read terminals')
  await offer.focus()
  await shot(page, 'screen-reader')
  await page.keyboard.press('Enter')
  await offer.waitFor({ state: 'detached' })
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type('echo read""able\n') // in this mode xterm.js hears keys alone
  await seen(page, /^readable$/)
  await page.locator('.xterm-accessibility-tree').getByText('readable', { exact: true }).waitFor()
  await becomes(async () => (await read('readable')).length > 0, true, 'the accessibility tree has the line')
  await page.locator('.xterm .live-region').getByText('readable').waitFor({ state: 'attached' })
  assert.deepEqual(await findings(page), [])
  await palette(page, 'screen reader support off')
  await offer.waitFor({ state: 'attached' })
})

test('axe finds nothing critical or serious, in both themes', async () => {
  for (const theme of ['dark', 'light']) {
    await page.goto(url())
    await section('Needs you').waitFor()
    await palette(page, `theme ${theme}`)
    await page.locator(`html[data-theme=${theme}]`).waitFor()
    const found = { home: await findings(page) }
    await shot(page, `home-${theme}`)
    await openPalette(page)
    found.palette = await findings(page)
    await page.keyboard.press('Escape')
    await page.goto(url('/w/fix-login'))
    await phase(page, 'attached')
    found.terminal = await findings(page)
    await shot(page, `terminal-${theme}`)
    await page.keyboard.press('Control+Shift+E')
    await page.locator('textarea[aria-label=Message]:focus').waitFor()
    found.composer = await findings(page)
    await page.keyboard.press('Escape')
    await button('New workspace').first().click()
    await page.getByRole('dialog').waitFor()
    found.dialog = await findings(page)
    await page.keyboard.press('Escape')
    await button('Delete workspace').click()
    await page.getByRole('dialog').getByText('Still running').waitFor()
    found.delete = await findings(page)
    await page.keyboard.press('Escape')
    const stranger = await browser.newContext({ ...desktop, colorScheme: theme })
    const login = watch(await stranger.newPage())
    await login.goto(url())
    await login.getByText('middleman open').waitFor()
    found.login = await findings(login)
    await shot(login, `login-${theme}`)
    await stranger.close()
    assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((name) => [name, []])), theme)
  }
})

test('no page complained, and no policy refused anything', () => {
  assert.deepEqual(complaints, [])
})
