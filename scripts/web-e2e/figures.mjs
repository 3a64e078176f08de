// What the web client takes, in a real Chromium, beside a page that has xterm.js
// and nothing else. `make figures` runs it; with --short it does little of each,
// to show that all of it works. --only REGEXP chooses.

import { execFile, spawn } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as inPage from './figures.page.mjs'
import { phase, start as startBrowser } from './browser.mjs'
import { desktop, phone } from './pages.mjs'
import { Server } from './server.mjs'

const short = process.argv.includes('--short')
const only = new RegExp(process.argv[process.argv.indexOf('--only') + 1 || Infinity] ?? '')
const hosts = ['pty-owner', 'tmux']
const server = new Server()
const log = join(server.root, 'log')
const megabytes = short ? 2 : 200
let browser
let context
let missed = 0

/** One line of the table; a bar is a number that the figure must not pass, or not fall below. */
function row(what, figure, unit, bar, beside = '') {
  const met = !bar || (bar.most ? figure <= bar.most : figure >= bar.least)
  const words = bar ? (bar.most ? `<= ${bar.most}` : `>= ${bar.least}`) : ''
  if (!met && !short) missed++
  console.log(`${what.padEnd(52)} ${`${figure.toFixed(1)} ${unit}`.padEnd(12)} ${words.padEnd(8)} ${met ? 'ok    ' : 'MISSED'} ${beside}`)
}

const percentile = (list, p) => [...list].sort((a, b) => a - b)[Math.min(Math.floor(list.length * p / 100), list.length - 1)]
const median = (list) => percentile(list, 50)

/** The coloured log that make bench has too, a megabyte of it. */
function colouredLog() {
  const levels = ['\x1b[32mINFO\x1b[0m ', '\x1b[33mWARN\x1b[0m ', '\x1b[1;31mERROR\x1b[0m', '\x1b[2mDEBUG\x1b[0m']
  const words = ['compiled', 'linked', 'cache', 'miss', 'package', 'request', 'took', 'naïve', 'files', '→']
  let state = 1
  const next = (n) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0, (state >>> 16) % n)
  let text = ''
  for (let i = 0; text.length < 1e6; i++) {
    const two = (n) => String(n % 60).padStart(2, '0')
    text += `\x1b[2m12:${two(Math.floor(i / 60))}:${two(i)}\x1b[0m ${levels[next(4)]} \x1b[38;5;${16 + next(200)}m${words[next(10)]}\x1b[0m`
    text += Array.from({ length: 4 + next(8) }, () => ' ' + words[next(10)]).join('') + ` \x1b[36m${next(5000)}\x1b[0m ms\n`
  }
  return text
}

const floods = `while read -r x; do for i in $(seq ${megabytes}); do cat '${log}'; done; echo "printed-$x"; done`
const interrupted = `trap : INT; while read -r x; do sh -c "trap 'date +%s%N >${server.root}/stopped-$x; echo stopped-$x; exit' INT; while :; do cat '${log}'; done"; done`
const echoes = 'stty raw -echo; exec cat'

/** Opens a page of ours on a new session. */
async function ours(name, host, command, query = '') {
  server.middleman('run', 'figures', '-d', '--name', name, '--backend', host, '--', 'sh', '-c', command)
  const page = await context.newPage()
  await page.addInitScript((query) => {
    window.WebSocket = class extends WebSocket {
      constructor(url, protocols) { super(url + query, protocols) }
    }
  }, query)
  await page.goto(`http://${server.address}/w/figures/${name}`)
  await phase(page, 'attached')
  return page
}

/** Opens a bare page on a command, of the same size. */
async function bare(command, { cols, rows }) {
  const child = spawn(process.env.BARE, [join(import.meta.dirname, '../../internal/web/vendored'), command], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [address] = await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.stdout.once('data', (data) => resolve(String(data).split('\n')))
  })
  const page = await context.newPage()
  page.on('close', () => child.stdin.end())
  await page.goto(`${address}?cols=${cols}&rows=${rows}`)
  await page.locator('.terminal-host').waitFor({ state: 'attached' })
  return page
}

const sizeOf = (page) => page.evaluate(() => (({ cols, rows }) => ({ cols, rows }))(document.querySelector('.terminal-host').terminal))

/** The rate of a page in MB/s, and what it saw meanwhile. */
async function rate(page, mark) {
  await page.bringToFront()
  const got = await page.evaluate(inPage.flood, mark)
  return { ...got, rate: megabytes / (got.ms / 1000) }
}

async function throughput() {
  for (const host of hosts) {
    const page = await ours(`skips-${host}`, host, floods)
    const got = await rate(page, '1')
    row(`${megabytes} MB through the page, host ${host}`, got.rate, 'MB/s', { least: 25 }, `skipping is said: ${got.lagged}`)
    if (!got.lagged && !short) throw new Error('the page skipped output and did not say so, or skipped none')
    row('  gap between frames meanwhile, median', median(got.gaps), 'ms', { most: 100 }, `p90 ${percentile(got.gaps, 90).toFixed(0)} ms`)
    await page.close()
  }
  // In turns, so that what else the machine does meets both.
  const pages = { 'pty-owner': await ours('whole-pty', 'pty-owner', floods, '&max_lag=0'), tmux: await ours('whole-tmux', 'tmux', floods, '&max_lag=0') }
  pages.bare = await bare(floods, await sizeOf(pages.tmux))
  const rates = Object.fromEntries(Object.keys(pages).map((name) => [name, []]))
  for (let round = 1; round <= (short ? 1 : 3); round++) {
    for (const [name, page] of Object.entries(pages)) {
      const got = await rate(page, String(round))
      if (got.lagged) throw new Error(`${name} skipped output`)
      rates[name].push(got.rate)
    }
  }
  for (const host of hosts) {
    row(`${megabytes} MB without skipping, host ${host}`, median(rates[host]), 'MB/s')
    row('  of the bare page', median(rates[host].map((r, i) => r / rates.bare[i])), 'x', { least: 0.9 }, `${median(rates.bare).toFixed(1)} MB/s`)
  }
  await Promise.all(Object.values(pages).map((page) => page.close()))
}

async function interrupt() {
  for (const host of hosts) {
    const page = await ours(`interrupted-${host}`, host, interrupted)
    const [effects, shows] = [[], []]
    for (let round = 1; round <= (short ? 1 : 7); round++) {
      const { at, shown } = await page.evaluate(inPage.interrupt, String(round))
      effects.push(Number(readFileSync(join(server.root, `stopped-${round}`), 'utf8')) / 1e6 - at)
      shows.push(shown)
    }
    row(`ctrl-C during a flood ends it, host ${host}, p50`, median(effects), 'ms', { most: 300 }, `most ${Math.max(...effects).toFixed(0)} ms`)
    row('  and the page shows its end, p50', median(shows), 'ms', { most: 300 }, `most ${Math.max(...shows).toFixed(0)} ms`)
    await page.close()
  }
}

async function echo() {
  const pages = { 'pty-owner': await ours('echo-pty', 'pty-owner', echoes), tmux: await ours('echo-tmux', 'tmux', echoes) }
  pages.bare = await bare(echoes, await sizeOf(pages.tmux))
  const took = Object.fromEntries(Object.keys(pages).map((name) => [name, []]))
  for (let round = 0; round < (short ? 2 : 10); round++) {
    for (const [name, page] of Object.entries(pages)) {
      await page.bringToFront()
      const times = await page.evaluate(inPage.echo, short ? 5 : 50)
      if (round > 0) took[name].push(...times) // the first one warms up
    }
  }
  for (const host of hosts) row(`echo in the page, host ${host}, p50`, median(took[host]), 'ms', { most: 5 }, `bare ${median(took.bare).toFixed(1)} ms; p99 ${percentile(took[host], 99).toFixed(1)}, bare ${percentile(took.bare, 99).toFixed(1)}`)
  await Promise.all(Object.values(pages).map((page) => page.close()))
}

const some = short ? 4 : 20 // sessions
const list = short ? 5 : 200 // workspaces

async function fill() {
  const run = promisify(execFile)
  const environment = { cwd: server.repository, env: server.environment }
  const names = Array.from({ length: list - 2 }, (_, i) => `w${i + 1}`)
  await Promise.all([0, 1, 2, 3].map(async () => {
    for (let name; (name = names.pop()); ) await run(process.env.MIDDLEMAN_BINARY, ['new', name, '-d', '--mode', 'directory', '--no-session'], environment)
  }))
  server.middleman('new', 'many', '-d', '--no-session')
  for (let i = 0; i < some; i++) server.middleman('run', 'many', '-d', '--name', `s${i}`, '--', 'sh', '-c', `echo session-${i}; while :; do seq 200; sleep 1; done`)
}

async function windows() {
  const began = performance.now()
  const pages = await Promise.all(Array.from({ length: 8 }, async (_, i) => {
    const page = await context.newPage()
    await page.goto(`http://${server.address}/w/many/s${i % some}`)
    await page.locator(`.screen:is([data-phase=attached], [data-phase=busy])`).waitFor({ state: 'attached', timeout: 60_000 })
    await page.getByText('Connected', { exact: true }).waitFor({ timeout: 60_000 })
    return page
  }))
  row(`eight windows, ${some} sessions, ${list} workspaces: all connected`, (performance.now() - began) / 1000, 's')
  await Promise.all(pages.slice(1).map((page) => page.close()))
  const [page] = pages
  const heap = async () => {
    const cdp = await context.newCDPSession(page)
    await cdp.send('HeapProfiler.collectGarbage')
    const { usedSize } = await cdp.send('Runtime.getHeapUsage')
    await cdp.detach()
    return usedSize / 1e6
  }
  await page.evaluate(inPage.switchTabs, some) // all of them once
  const before = await heap()
  const took = await page.evaluate(inPage.switchTabs, short ? 2 * some : 20 * some)
  row(`switch of a tab, ${took.length} times, p90`, percentile(took, 90), 'ms', { most: 100 }, `p50 ${median(took).toFixed(0)} ms`)
  const after = await heap()
  row('heap after them, of before', after / before, 'x', { most: 1.5 }, `${before.toFixed(1)} and ${after.toFixed(1)} MB`)
  await page.close()
}

async function start() {
  for (const [name, device] of [['desktop', desktop], ['phone', phone]]) {
    const visitor = await browser.newContext(device)
    const first = await visitor.newPage()
    await first.goto(server.newLink())
    await first.locator('.home .item').first().waitFor()
    await first.close()
    const took = []
    for (let i = 0; i < (short ? 1 : 5); i++) {
      const page = await visitor.newPage()
      await page.addInitScript(inPage.watchStart)
      const cdp = await visitor.newCDPSession(page)
      await cdp.send('Emulation.setCPUThrottlingRate', { rate: 6 })
      await page.goto(`http://${server.address}/`)
      took.push(await (await page.waitForFunction(() => window.listed)).jsonValue())
      await page.close()
    }
    row(`start page, CPU 6 times slower, ${name}, ${list} workspaces`, median(took), 'ms', { most: 1000 }, `most ${Math.max(...took).toFixed(0)} ms`)
    await visitor.close()
  }
}

try {
  writeFileSync(log, colouredLog())
  await server.start()
  appendFileSync(join(server.home, 'config', 'config.toml'), '[terminal]\njournal_bytes = 0\n', { mode: 0o600 }) // without skipping, all is kept
  await server.kill()
  await server.start()
  browser = await startBrowser()
  context = await browser.newContext(desktop)
  server.middleman('new', 'figures', '-d', '--no-session')
  const first = await context.newPage()
  await first.goto(server.newLink())
  await first.locator('.home').waitFor()
  await first.close()
  console.log(`${cpus().length} x ${cpus()[0].model}, load ${loadavg().map((l) => l.toFixed(1)).join(' ')}`)
  if (only.test('throughput')) await throughput()
  if (only.test('interrupt')) await interrupt()
  if (only.test('echo')) await echo()
  if (only.test('windows|start')) await fill()
  if (only.test('windows')) await windows()
  if (only.test('start')) await start()
  console.log(`load ${loadavg().map((l) => l.toFixed(1)).join(' ')}`)
} finally {
  await browser?.close()
  await server.cleanUp()
}
process.exitCode = missed > 0 ? 1 : 0
