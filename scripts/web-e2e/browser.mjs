// A Chromium of its own, and what the tests do with its pages.

import { accessSync, constants, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { chromium } from 'playwright-core'

const artifacts = process.env.ARTIFACTS
if (artifacts) mkdirSync(artifacts, { recursive: true })

const patience = 60_000 // a busy machine may be slow; what never comes is told as well after a minute

/** Starts one; more are further arguments of it. */
export async function launch(...more) {
  const args = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', ...more]
  if (process.getuid?.() === 0) args.push('--no-sandbox')
  const browser = await chromium.launch({ executablePath: findChromium(), args })
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (...how) => {
    const context = await newContext(...how)
    context.setDefaultTimeout(patience)
    return context
  }
  return browser
}

function findChromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    for (const directory of process.env.PATH.split(delimiter)) {
      const path = join(directory, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        // not here
      }
    }
  }
  throw new Error('no Chromium in PATH; set CHROMIUM')
}

/** What pages complained about; a test asserts that it stays empty. */
export const complaints = []

// A browser logs each answer that is not a success; those that the tests provoke are no complaint.
const expected = /status of (401|409|422|503)|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_SOCKET_NOT_CONNECTED|ERR_EMPTY_RESPONSE|WebSocket connection to/

export function watch(page) {
  page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.stack || `${error.name} ${error.message}`}`))
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text())) {
      complaints.push(`${page.url()}: ${message.text()} (${message.location().url})`)
    }
  })
  return page
}

/**
 * Tests that build on each other: once one failed the others are skipped. After
 * a failure whenFailed takes its pictures.
 */
export function inOrder(whenFailed) {
  let broken = ''
  return (name, run) => test(name, async (t) => {
    if (broken) return t.skip(`"${broken}" failed`)
    broken = name
    try {
      await run(t)
      broken = ''
    } catch (error) {
      await whenFailed()
      throw error
    }
  })
}

/** Takes a picture, where somebody wants to see any. */
export const shot = async (page, name) => artifacts && page.screenshot({ path: join(artifacts, `${name}.png`) })

/** Waits until the shown terminal stands so: attached, watching, busy, ... */
export const phase = (page, is) =>
  page.locator(`.screen[data-phase=${is}]`).waitFor({ state: 'attached' }).catch(async (error) => {
    throw new Error(`the terminal is not ${is}; the page at ${page.url()} says:\n${await standing(page)}`, { cause: error })
  })

/** What a page says: the phases of its terminals, and all text. */
const standing = (page) => page.evaluate(() =>
  [...[...document.querySelectorAll('.screen')].map((s) => s.dataset.phase), document.body.innerText].join('\n'))

/** All lines of the shown terminal, scrollback included, wrapped ones joined. */
export function lines(page) {
  return page.evaluate(() => {
    const buffer = document.querySelector('.terminal-host').terminal.buffer.active
    const all = []
    for (let i = 0; i < buffer.length; i++) {
      const line = buffer.getLine(i)
      const text = line.translateToString(true)
      if (line.isWrapped) all[all.length - 1] += text
      else all.push(text)
    }
    return all
  })
}

/**
 * Waits until the shell asks for a command: what is typed at a program that is
 * ending may go with it.
 */
export async function prompted(page) {
  await page.waitForFunction(() => {
    const buffer = document.querySelector('.terminal-host')?.terminal.buffer.active
    for (let i = (buffer?.length ?? 0) - 1; i >= 0; i--) {
      const text = buffer.getLine(i).translateToString(true).trimEnd()
      if (text) return /[$#]$/.test(text)
    }
    return false
  })
}

let calls = 0

/** Waits until a line of the shown terminal matches, and returns the match. */
export async function seen(page, pattern) {
  await page.waitForFunction(([source, flags, call]) => {
    const { terminal } = document.querySelector('.terminal-host') ?? {}
    if (!terminal) return false
    // It is asked once a frame: all lines are read once, then the last ones, and only if more was printed.
    if (!terminal.printed) {
      terminal.printed = 1
      terminal.onWriteParsed(() => terminal.printed++)
    }
    const first = terminal.readBy !== call
    if (!first && terminal.readAt === terminal.printed) return false
    Object.assign(terminal, { readBy: call, readAt: terminal.printed })
    const { active } = terminal.buffer
    const wanted = new RegExp(source, flags)
    for (let i = active.length - 1; i >= (first ? 0 : active.length - 2_000) && i >= 0; i--) {
      if (wanted.test(active.getLine(i).translateToString(true))) return true
    }
    return false
  }, [pattern.source, pattern.flags, ++calls]).catch(async (error) => {
    throw new Error(`${pattern} did not appear; the terminal has:\n${(await lines(page)).filter(Boolean).slice(-30).join('\n')}`, { cause: error })
  })
  return (await lines(page)).map((line) => line.match(pattern)).findLast(Boolean)
}

/** Waits until the bar over a terminal says how its program ended: notices may say the same of others. */
export const ended = (page, words) => page.locator('.exit').filter({ hasText: words }).waitFor()

/** Types a command line into the shown terminal, in one go: an echo for each key takes long where much is typed. */
export async function run(page, command) {
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.insertText(command)
  await page.keyboard.press('Enter')
}
