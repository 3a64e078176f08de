// Agents without the command line: started by their profile, and taken up again.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { becomes, canHoldEvents, complaints, inOrder, launch, palette, phase, run, seen, shot, toasted, watch } from './browser.mjs'
import { desktop, findings, phone } from './pages.mjs'
import { Server } from './server.mjs'

const server = new Server('[profiles.gone]\ncommand = ["no-such-program"]\n')
const programs = join(server.root, 'programs')
let browser
let page

const once = inOrder(async () => shot(page, 'agents-failure'))
const button = (name, on = page) => on.getByRole('button', { name, exact: true })
const textbox = (name) => page.getByRole('textbox', { name, exact: true })
const dialog = () => page.getByRole('dialog')
const choice = (name) => dialog().getByRole('combobox', { name, exact: true })
const sessions = () => JSON.parse(server.middleman('ls', '--all', '--sessions', '--json')).sessions
const holdEvents = (held) => page.evaluate((held) => { window.held = held }, held)
const session = (name) => sessions().find((s) => `${s.workspace_name}/${s.name}` === name)

/** A claude that says how it was started, and whose end is a line. */
const claude = `#!/bin/sh
[ "$1" = --version ] && exec echo 2.0.0
for arg; do printf 'given [%s]\\n' "$arg"; done
while read -r line; do
	case $line in leave) exit 0 ;; *) printf 'got [%s]\\n' "$line" ;; esac
done
`

before(async () => {
  mkdirSync(programs)
  writeFileSync(join(programs, 'claude'), claude, { mode: 0o700 })
  writeFileSync(join(server.root, '.bash_profile'), `PATH=${programs}:$PATH\n`)
  await server.start()
  browser = await launch()
  page = watch(await (await browser.newContext(desktop)).newPage())
  await page.addInitScript(canHoldEvents)
  await page.goto(server.newLink())
})

after(async () => {
  await browser?.close()
  await server.cleanUp()
})

once('a workspace is made with an agent and its first prompt', async () => {
  await page.getByRole('main').getByRole('button', { name: 'New workspace' }).click()
  await page.getByRole('combobox', { name: 'Repository' }).fill(server.repository)
  await textbox('Name').fill('fix')
  await choice('Program').selectOption('claude')
  assert.equal(await textbox('Command').count(), 0)
  assert.ok(await choice('Program').getByRole('option', { name: /^gone \(not found in PATH\)$/ }).isDisabled())
  assert.match(await choice('Sandbox').locator('option').first().textContent(), /^Default: workspace$/)
  await dialog().getByText(/^It writes to its workspace/).waitFor()
  await choice('Sandbox').selectOption('none')
  await dialog().getByText('It may do what you may do.').waitFor()
  await textbox('First prompt').fill('Fix the login.\nThen run the tests.')
  assert.deepEqual(await findings(page), [])
  await shot(page, 'new-workspace-agent')
  await button('Create workspace').click()
  await phase(page, 'attached')
  await seen(page, /^given \[Fix the login\.$/)
  await seen(page, /^Then run the tests\.\]$/)
  const { profile, conversation, sandbox } = session('fix/claude')
  assert.deepEqual([profile, sandbox], ['claude', undefined])
  assert.ok(conversation)
  await seen(page, new RegExp(`^given \\[${conversation}\\]$`))
})

once('its ended session is resumed on the same conversation, beside Restart', async () => {
  const { conversation } = session('fix/claude')
  await run(page, 'leave')
  await page.locator('.banner .exit').waitFor()
  await shot(page, 'agent-ended')
  const tabs = page.locator('.tabs').getByRole('button', { name: /^(Resume|Restart) claude$/ })
  await becomes(() => tabs.evaluateAll((all) => all.map((b) => b.ariaLabel)), ['Resume claude', 'Restart claude']) // the list is told of the end later
  await button('More actions').click()
  const actions = await dialog().locator('.actions button').allTextContents()
  assert.equal(actions.indexOf('Restart claude'), actions.indexOf('Resume claude') + 1)
  await page.keyboard.press('Escape')
  await button('Resume', page.locator('.banner')).click()
  await page.waitForURL((url) => /^\/w\/fix\/claude-\d$/.test(url.pathname))
  await phase(page, 'attached')
  await seen(page, /^given \[--resume\]$/)
  await seen(page, new RegExp(`^given \\[${conversation}\\]$`))
  const all = sessions().filter((s) => s.workspace_name === 'fix')
  assert.deepEqual(all.map((s) => [s.profile, s.conversation]), [['claude', conversation], ['claude', conversation]])
  await page.getByRole('tab', { name: 'claude', exact: true }).click()
  await page.locator('.banner .exit').waitFor()
  assert.equal(await button('Resume').count(), 0, 'its conversation goes on elsewhere')
})

once('the palette resumes too, and what the server refuses is told', async () => {
  await page.getByRole('tab', { name: /^claude-/ }).click()
  await phase(page, 'attached')
  await holdEvents(true) // the terminal tells of the exit before the events do
  await run(page, 'leave')
  await page.locator('.banner .exit').waitFor()
  await page.route('**/resume', (route) => route.fulfill({ status: 409, json: { detail: 'It goes on elsewhere.' } }), { times: 1 })
  const before = sessions().length
  await palette(page, 'resume claude')
  await toasted(page, 'It goes on elsewhere.')
  assert.equal(sessions().length, before)
  await holdEvents(false)
  await palette(page, 'resume claude')
  await phase(page, 'attached')
  await seen(page, /^given \[--resume\]$/)
})

once('a session is removed as soon as its terminal has told of the exit', async () => {
  const tabs = () => page.getByRole('tab').count()
  const [listed, shown] = [sessions().length, await tabs()]
  await holdEvents(true)
  await run(page, 'leave')
  await page.locator('.banner .exit').waitFor()
  await button('Remove').click()
  await becomes(tabs, shown - 1, 'the tab stays')
  await holdEvents(false)
  assert.equal(sessions().length, listed - 1)
})

once('a lost session is resumed', async () => {
  server.middleman('run', 'fix', '-d', '-p', 'claude', '--sandbox', 'none', '--backend', 'pty-owner', '--name', 'victim', '--env', `PATH=${programs}:${process.env.PATH}`)
  const { id, conversation } = session('fix/victim')
  const owner = readFileSync(join(server.home, 'data', 'sessions', id, 'owner.json'), 'utf8')
  process.kill(JSON.parse(owner).owner_pid, 'SIGKILL')
  await becomes(() => session('fix/victim').state, 'lost')
  await page.getByRole('tab', { name: 'victim' }).click()
  await button('Resume', page.locator('.banner')).click()
  await page.waitForURL((url) => /^\/w\/fix\/claude-\d$/.test(url.pathname))
  await phase(page, 'attached')
  await seen(page, new RegExp(`^given \\[${conversation}\\]$`))
})

once('on a phone a session is started with an agent', async () => {
  const context = await browser.newContext(phone)
  page = watch(await context.newPage())
  await page.goto(server.newLink())
  await page.getByRole('heading', { name: 'Sessions', exact: true }).waitFor()
  await page.goto(`http://${server.address}/w/fix`)
  await button('New session with a command').click()
  await choice('Program').selectOption('claude')
  await textbox('First prompt').fill('Look around.')
  await choice('Sandbox').selectOption('none')
  await textbox('Name').fill('scout')
  const start = button('Start session')
  await start.scrollIntoViewIfNeeded()
  const wide = await dialog().evaluate((d) => d.scrollWidth <= d.clientWidth && d.getBoundingClientRect().right <= innerWidth)
  assert.ok(wide, 'the dialog fits the width')
  for (const one of [choice('Program'), choice('Sandbox'), textbox('First prompt'), start]) assert.ok((await one.boundingBox()).height >= 44)
  assert.deepEqual(await findings(page), [])
  await shot(page, 'new-session-agent-phone')
  await start.tap()
  await page.waitForURL('**/w/fix/scout')
  await becomes(() => session('fix/scout')?.profile, 'claude')
  await phase(page, 'attached')
  await seen(page, /^given \[Look around\.\]$/)
})

once('where profiles cannot be listed, a command is run all the same', async () => {
  await page.route('**/profiles', (route) => route.fulfill({ status: 409, json: { detail: 'It is too old.' } }))
  await button('New session with a command').click()
  await dialog().getByText('Agents cannot be listed: It is too old.').waitFor()
  await textbox('Command').fill('cat')
  await button('Start session').click()
  await page.waitForURL('**/w/fix/cat')
  await phase(page, 'attached')
})

once('no page complained, and no policy refused anything', () => assert.deepEqual(complaints, []))
