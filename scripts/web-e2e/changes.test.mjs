// The changes of a workspace in the web client: diff, comments, merge, push,
// trust, import, delete and restore, on a desktop and on a phone alone.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { becomes, complaints, inOrder, keepToasts, launch, phase, seen, shot, toasted, watch } from './browser.mjs'
import { Server } from './server.mjs'

const desktop = { viewport: { width: 1280, height: 800 }, colorScheme: 'dark', reducedMotion: 'reduce' }
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: 'light', reducedMotion: 'reduce' }
const server = new Server()
let browser
let page // a desktop's
let small // a phone's
let path // of the workspace fix

before(async () => {
  writeFileSync(join(server.root, '.gitconfig'), '[user]\n\tname = Tester\n\temail = tester@example.org\n') // for merge commits
  await server.start()
  browser = await launch()
  page = watch(await (await browser.newContext(desktop)).newPage())
  small = watch(await (await browser.newContext(phone)).newPage())
})

after(async () => {
  await browser?.close()
  await server.cleanUp()
})

const test = inOrder(async () => {
  await shot(page, 'changes-failed')
  await shot(small, 'changes-failed-phone')
})

const url = (rest = '/') => `http://${server.address}${rest}`
const button = (name, on = page) => on.getByRole('button', { name, exact: true })
const dialog = (name, on = page) => on.getByRole('dialog', { name })

async function action(name, on = page) {
  await button('More actions', on).click()
  await button(name, on).click()
}

/** Git in a worktree, as the user. */
const git = (at, ...args) => server.git('-C', at, ...args)

const program = (greeting) => ['package main', '', 'import "fmt"', '', '// greet says hello.', 'func greet(name string) {',
  `\tfmt.Println("${greeting}", name)`, '}', '', 'func main() {', '\tgreet("world")', '}', ''].join('\n')

test('a workspace says how many files are changed, and how far it is from its base', async () => {
  writeFileSync(join(server.repository, 'main.go'), program('hello'))
  writeFileSync(join(server.repository, '.gitignore'), 'build/\n')
  server.git('add', '.')
  server.git('commit', '--quiet', '--message', 'Greet')
  server.middleman('new', 'fix', '-d')
  path = server.middleman('path', 'fix').trim()
  writeFileSync(join(path, 'README'), 'A better shop.\n')
  git(path, 'commit', '--quiet', '--all', '--message', 'Better \u202ewords')
  writeFileSync(join(path, 'main.go'), program('good morning').replace('says hello', 'says \u202ehello'))
  writeFileSync(join(path, 'staged'), 'x\n')
  git(path, 'add', 'staged')
  writeFileSync(join(path, 'loose'), 'y\n')
  await page.goto(server.loginLink)
  await page.locator('.sidebar').getByRole('link', { name: /^fix/ }).first().click()
  await phase(page, 'attached')
  for (const place of [page.locator('.bar'), page.locator('.sidebar')]) {
    await place.getByRole('img', { name: '1 staged, 1 changed, 1 untracked, 1 ahead of main' }).waitFor()
  }
})

test('the branch that is shown is the one that is checked out', async () => {
  const chip = page.getByTitle('Copy the branch’s name')
  await becomes(() => chip.innerText(), 'middleman/fix')
  git(path, 'checkout', '--quiet', '-b', 'aside')
  await chip.filter({ hasText: 'aside' }).waitFor()
  git(path, 'checkout', '--quiet', '--detach')
  await chip.filter({ hasText: /^detached [0-9a-f]{12}$/ }).waitFor()
  git(path, 'checkout', '--quiet', 'middleman/fix')
  git(path, 'branch', '--quiet', '-D', 'aside')
  await chip.filter({ hasText: 'middleman/fix' }).waitFor()
})

test('the diff: files, hunks, words, colours, side by side, and nothing of it is hidden', async () => {
  await button('Changes').click()
  await page.locator('.diff-line .c-keyword', { hasText: 'func' }).first().waitFor()
  assert.equal(new URL(page.url()).pathname, '/changes/fix/bash')
  const removed = page.locator('.diff-line.removed', { hasText: 'Println' })
  const added = page.locator('.diff-line.added', { hasText: 'Println' })
  await becomes(() => removed.locator('.word').allInnerTexts(), ['hello'])
  await becomes(() => added.locator('.word').allInnerTexts(), ['good morning'])
  await page.getByText('// greet says \\u{202e}hello.').waitFor()
  for (const name of ['README', 'loose', 'main.go', 'staged']) await page.getByRole('navigation', { name: 'Changed files' }).getByRole('button', { name }).waitFor()
  await shot(page, 'diff')
  await button('Side by side').click()
  const pair = page.locator('.diff-pair', { hasText: 'Println' })
  await becomes(() => pair.locator('.diff-line').count(), 2)
  await shot(page, 'diff-split')
  await button('Inline').click()
  await page.getByRole('combobox', { name: 'Against' }).selectOption('head')
  await page.getByRole('navigation', { name: 'Changed files' }).getByRole('button', { name: 'README' }).waitFor({ state: 'detached' })
  await page.getByRole('combobox', { name: 'Against' }).selectOption('upstream')
  await page.getByRole('alert').waitFor()
  await page.getByRole('combobox', { name: 'Against' }).selectOption('merge-base')
  await page.locator('.diff-line.added', { hasText: 'Println' }).waitFor()
})

test('a change is noticed, and read again when asked', async () => {
  writeFileSync(join(path, 'later'), 'z\n')
  await page.getByText('Something has changed since.').waitFor()
  await button('Read again').click()
  await page.getByRole('navigation', { name: 'Changed files' }).getByRole('button', { name: 'later' }).waitFor()
})

test('commits, and with which workspaces it would conflict', async () => {
  server.middleman('new', 'rival', '-d', '--no-session')
  const other = server.middleman('path', 'rival').trim()
  writeFileSync(join(other, 'README'), 'Another shop.\n')
  git(other, 'commit', '--quiet', '--all', '--message', 'Other words')
  await page.getByRole('tab', { name: 'Commits' }).click()
  await page.getByText('"Better \\u202ewords"').waitFor()
  await shot(page, 'commits')
  await page.getByRole('tab', { name: 'Conflicts' }).click()
  await page.getByText('Conflicts', { exact: true }).last().waitFor()
  await page.getByRole('listitem').filter({ hasText: 'rival' }).getByText('README').waitFor()
  await shot(page, 'conflicts')
  await page.getByRole('tab', { name: 'Diff' }).click()
})

const reader = `
  process.stdin.setRawMode(true)
  process.stdout.write('\\x1b[?2004hready> ')
  let all = ''
  process.stdin.on('data', (d) => {
    all += d.toString('utf8')
    if (all.includes('change the screen')) process.stdout.write('\\r\\nanother screen> '), all = ''
    const whole = all.match(/^\\x1b\\[200~([^]*)\\x1b\\[201~\\r$/)
    if (!whole) return
    require('node:fs').writeFileSync(process.argv[1], whole[1])
    process.stdout.write('\\r\\ngot it> ')
    all = ''
  })
`

test('comments on lines become one message, which only the screen that was seen gets', async () => {
  const got = join(server.root, 'got')
  server.middleman('run', 'fix', '-d', '--name', 'agent', '--', process.execPath, '-e', reader, got)
  server.middleman('wait', 'fix/agent', '--text', 'ready>', '--timeout', '60s')
  const comment = async (line, text) => {
    await button(line).first().click()
    await page.getByRole('textbox', { name: /^Comment on line/ }).fill(text)
    await button('Keep comment').click()
  }
  const main = page.getByRole('navigation', { name: 'Changed files' }).getByRole('button', { name: 'main.go' })
  await main.click()
  await comment('Comment on removed line 7', 'Why not hello?')
  await comment('Comment on line 10', 'And the world?\nSay it.')
  await page.reload() // they are kept
  await button('Send 2 comments…').click()
  const form = dialog('Send comments')
  await form.getByRole('combobox', { name: 'To' }).selectOption({ label: 'agent' })
  await form.getByLabel('The screen').getByText('ready>').waitFor()
  await shot(page, 'send-comments')
  server.middleman('send', 'fix/agent', 'change the screen')
  server.middleman('wait', 'fix/agent', '--text', 'another screen>', '--timeout', '60s')
  await button('Send', form).click()
  await form.getByText('nothing was typed').waitFor()
  assert.ok(!existsSync(got))
  await form.getByLabel('The screen').getByText('another screen>').waitFor()
  await button('Send', form).click()
  await form.waitFor({ state: 'detached' })
  server.middleman('wait', 'fix/agent', '--text', 'got it>', '--timeout', '60s') // it was typed; now it is read
  assert.equal(readFileSync(got, 'utf8').replaceAll('\r', '\n'), [
    '2 comments on your changes (compared with merge base with main):', '',
    'main.go:7 (removed)', '> fmt.Println("hello", name)', 'Why not hello?', '',
    'main.go:10', '> func main() {', 'And the world?', 'Say it.'].join('\n'))
  await button(/^Send/).waitFor({ state: 'detached' })
  server.middleman('stop', 'fix/agent')
})

test('12,000 changed lines scroll without a stall, and few of them are drawn', async () => {
  const lines = Array.from({ length: 12_000 }, (_, i) => `export const value${i} = { id: ${i}, name: 'value' } // a comment ${'x'.repeat(i % 150)}`)
  writeFileSync(join(path, 'large.ts'), lines.join('\n') + '\n')
  const asked = Date.now()
  await button('Read again').click()
  const head = page.getByRole('button', { name: /^large\.ts/ }).last()
  await head.click()
  await page.locator('.diff-line', { hasText: 'export const value3 =' }).waitFor()
  const opened = Date.now() - asked
  // What the page's thread does for a frame, whatever else the machine does.
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busy = async () => (await devtools.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value * 1000
  const frames = 100
  const scroll = () => page.evaluate(async (frames) => {
    const box = document.querySelector('.rows')
    let drawn = box.scrollTop = 0
    await new Promise(requestAnimationFrame)
    for (let i = 0; i < frames; i++) {
      box.scrollTop += box.scrollHeight / (frames - 1)
      await new Promise(requestAnimationFrame)
      drawn = Math.max(drawn, box.querySelectorAll('.diff-line').length)
    }
    for (let i = 0; i < 10; i++) { // the last rows get their heights
      box.scrollTop = box.scrollHeight
      await new Promise(requestAnimationFrame)
    }
    return { drawn, last: box.innerText.includes('value11999 ') }
  }, frames)
  let [drawn, last, each] = [0, true, Infinity]
  for (let tries = 0; tries < 3 && each >= 50; tries++) { // what is cold or shares its core is slower, never faster
    const before = await busy()
    const got = await scroll()
    drawn = Math.max(drawn, got.drawn)
    last &&= got.last
    each = Math.min(each, (await busy() - before) / (frames + 11))
  }
  console.log(`# opened in ${opened} ms; ${each.toFixed(1)} ms of the page's thread a frame, each of them a jump by ${12_000 / frames} lines; ${drawn} lines drawn`)
  assert.ok(last, 'the end was not reached')
  assert.ok(drawn < 400, `${drawn} lines were drawn at once`)
  assert.ok(each < 50, `a frame took ${each} ms`)
  await page.locator('.diff-line .c-keyword').first().waitFor()
  git(path, 'clean', '--quiet', '--force', 'large.ts')
})

test('what a repository has in its names and lines is text, and no more', async () => {
  const name = '<img src=x onerror=alert(1)> \u202egnp.exe'
  writeFileSync(join(path, name), '<script>alert(2)</script>\r\n\u001b]0;title\u0007\n')
  await button('Read again').click()
  await page.getByRole('button', { name: /<img src=x onerror=alert\(1\)> \\u\{202e\}gnp\.exe/ }).first().waitFor()
  await page.getByText('<script>alert(2)</script>\\u{d}').waitFor()
  await page.getByText('\\u{1b}]0;title\\u{7}').waitFor()
  await shot(page, 'diff-hostile')
  git(path, 'clean', '--quiet', '--force')
})

test('a merge says first what it would do; a push goes to the remote', async () => {
  await action('Merge…')
  await dialog('Merge fix').getByRole('alert').getByText('not committed').waitFor()
  await shot(page, 'merge-refused')
  await page.keyboard.press('Escape')
  git(path, 'commit', '--quiet', '--all', '--message', 'Good morning')
  await action('Merge…')
  await dialog('Merge fix').getByText('2 commits of middleman/fix can be merged into main').waitFor()
  await shot(page, 'merge')
  await button('Merge into main').click()
  await toasted(page, '2 commits of middleman/fix merged into main.')
  assert.match(server.git('log', '--oneline', 'main'), /Good morning/)
  const remote = join(server.root, 'remote.git')
  server.git('init', '--quiet', '--bare', remote)
  server.git('remote', 'add', 'origin', remote)
  await action('Push…')
  await dialog('Push fix').getByText('to origin/middleman/fix').waitFor()
  await shot(page, 'push')
  await button('Push').click()
  await page.getByText('origin/middleman/fix is new there.').waitFor()
  await button('Close', dialog('Pushed')).last().click()
  assert.match(git(remote, 'log', '--oneline', 'middleman/fix'), /Good morning/)
})

test('a repository’s configuration is agreed to by its content', async () => {
  appendFileSync(join(path, '.middleman.toml'), '# \u202ehidden\nsetup = ["echo set > build-done"]\nteardown = ["true teardown"]\n')
  await action('Repository configuration…')
  const form = dialog('Repository configuration of fix')
  await form.getByText('# \\u{202e}hidden').waitFor()
  await form.getByLabel('Run its setup in this workspace now').check()
  await shot(page, 'trust')
  await button('Agree to this content', form).click()
  await form.waitFor({ state: 'detached' })
  assert.equal(readFileSync(join(path, 'build-done'), 'utf8'), 'set\n')
  await action('Repository configuration…')
  await form.getByText('You agreed to exactly this content.').waitFor()
  await page.keyboard.press('Escape')
})

test('worktrees that exist are imported, after it says which', async () => {
  const own = join(server.root, 'own')
  server.git('worktree', 'add', '--quiet', '-b', 'mine', own)
  await action('Import worktrees…')
  const form = dialog('Import worktrees')
  await form.getByRole('combobox', { name: 'Repository' }).fill(server.repository)
  await button('Look', form).click()
  await form.getByText(own).waitFor()
  await shot(page, 'import')
  await button('Import', form).click()
  await toasted(page, '1 workspace imported.')
  await page.getByRole('heading', { name: /^(own|mine)$/ }).waitFor()
})

test('a creation that failed is tried again', async () => {
  const flag = join(server.root, 'flag')
  writeFileSync(join(server.repository, '.middleman.toml'), `setup = ["test -e ${flag}"]\n`)
  server.git('add', '.middleman.toml')
  server.git('commit', '--quiet', '--message', 'Needs a flag')
  server.middleman('trust', '--yes', createHash('sha256').update(readFileSync(join(server.repository, '.middleman.toml'))).digest('hex'))
  assert.throws(() => server.middleman('new', 'unlucky', '-d'))
  await page.goto(url('/w/unlucky'))
  await page.getByRole('heading', { name: 'Could not create unlucky' }).waitFor()
  await shot(page, 'creation-failed')
  writeFileSync(flag, '')
  await button('Try again').click()
  await phase(page, 'attached')
})

test('a delete says what is kept and what is gone for good, its lists open, and it can be undone', async () => {
  for (let i = 0; i < 13; i++) writeFileSync(join(path, `draft-${i}`), `${i}\n`)
  mkdirSync(join(path, 'build'))
  writeFileSync(join(path, 'build', 'big'), Buffer.alloc(3 << 20))
  await page.goto(url('/w/fix'))
  await button('Delete workspace').click()
  const form = dialog('Delete fix?')
  await form.getByText('15 untracked files').waitFor() // with .middleman.toml and build-done
  await form.getByRole('heading', { name: 'Gone for good' }).waitFor()
  await form.locator('.gone').getByText('ignored build/ (3.0 MiB: too large)').waitFor()
  await form.getByText('true teardown').waitFor()
  await form.getByText('draft-9').waitFor({ state: 'detached' })
  await button('and 9 more', form).click()
  await form.getByText('draft-9').waitFor()
  await shot(page, 'delete-open')
  await form.getByLabel('Discard this work').check()
  await form.getByLabel('Stop this session').check()
  await keepToasts(page)
  await button('Delete workspace', form).click()
  await button('Undo').click()
  await toasted(page, 'fix is restored')
  assert.equal(readFileSync(join(server.middleman('path', 'fix').trim(), 'draft-12'), 'utf8'), '12\n')
  assert.equal(new URL(page.url()).pathname, '/w/fix')
})

test('a delete names the workers, and what they have', async () => {
  const work = `'${process.env.MIDDLEMAN_BINARY}' spawn helper -d -- sh -c 'echo only-here >found; echo written; sleep 600'; sleep 600`
  server.middleman('new', 'parent', '-d', '--', 'sh', '-c', work)
  await page.goto(url('/w/helper'))
  await phase(page, 'attached')
  await seen(page, /^written$/)
  await page.goto(url('/w/parent'))
  await phase(page, 'attached')
  await button('Delete workspace').click()
  const form = dialog('Delete parent?')
  await form.getByRole('heading', { name: 'Workers that its sessions started' }).waitFor()
  await form.getByText('found', { exact: true }).waitFor()
  await shot(page, 'delete-workers')
  await form.getByLabel('Discard this work').check()
  await form.getByLabel('Stop these sessions').check()
  assert.ok(await button('Delete workspace', form).isDisabled(), 'workers are a consent of their own')
  await form.getByLabel('Delete 1 workspace of workers first').check()
  await button('Delete workspace', form).click()
  await form.waitFor({ state: 'detached' })
  for (const name of ['parent', 'helper']) await page.getByRole('link', { name: new RegExp(`^${name}`) }).waitFor({ state: 'detached' })
})

test('on a phone alone: read the diff, comment, merge, delete, restore', async () => {
  await page.goto(url('/')) // who types at the phone's session is the phone
  rmSync(join(server.middleman('path', 'fix').trim(), '.middleman.toml')) // the base has another one
  git(server.middleman('path', 'fix').trim(), 'add', '.')
  git(server.middleman('path', 'fix').trim(), 'commit', '--quiet', '--message', 'Drafts')
  writeFileSync(join(server.middleman('path', 'fix').trim(), 'main.go'), program('good evening'))
  server.middleman('run', 'fix', '-d', '--name', 'reader', '--', process.execPath, '-e', reader, join(server.root, 'got-small'))
  server.middleman('wait', 'fix/reader', '--text', 'ready>', '--timeout', '60s')
  await small.goto(server.newLink().replace('/#', '/w/fix/reader#'))
  await phase(small, 'attached')
  await button('Changes', small).tap()
  await small.getByRole('combobox', { name: 'File' }).selectOption('main.go')
  await button('Comment on line 7', small).last().tap()
  await small.getByRole('textbox', { name: /^Comment on line 7/ }).fill('Morning is better.')
  await button('Keep comment', small).tap()
  await shot(small, 'diff-phone')
  const wide = await small.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  assert.ok(wide <= 0, `the page is ${wide} pixels wider than the phone`)
  await button('Send 1 comment…', small).tap()
  await small.getByLabel('The screen').getByText('ready>').waitFor()
  await shot(small, 'send-comments-phone')
  await button('Send', small).tap()
  await dialog('Send comments', small).waitFor({ state: 'detached' })
  server.middleman('wait', 'fix/reader', '--text', 'got it>', '--timeout', '60s')
  assert.match(readFileSync(join(server.root, 'got-small'), 'utf8'), /main\.go:7\r?\n?.*Morning is better\./s)
  git(server.middleman('path', 'fix').trim(), 'commit', '--quiet', '--all', '--message', 'Evening')
  await action('Merge…', small)
  await button('Merge into main', small).tap()
  await toasted(small, ' merged into main.')
  await button('Delete workspace', small).tap()
  const form = dialog('Delete fix?', small)
  await form.getByText('What is needed to make it again').waitFor()
  await form.getByLabel('Stop this session').check()
  await shot(small, 'delete-phone')
  await button('Delete workspace', form).tap()
  await form.waitFor({ state: 'detached' })
  await small.goto(url('/w/fix'))
  await small.getByText('It was deleted just now. It can be restored.').waitFor()
  await shot(small, 'link-to-deleted')
  await button('Restore', small).tap()
  await toasted(small, 'fix is restored')
  await small.getByRole('heading', { name: 'fix', exact: true }).waitFor()
  server.middleman('rm', 'fix')
  await small.goto(url('/'))
  await small.getByRole('button', { name: /^Show workspaces/ }).tap()
  await button('Restore a deleted workspace…', small).first().tap()
  await button('Restore fix', small).waitFor()
  await shot(small, 'restore-phone')
  await button('Restore fix', small).tap()
  await toasted(small, 'fix is restored')
})

test('no page complained, and no policy refused anything', () => {
  assert.deepEqual(complaints, [])
})
