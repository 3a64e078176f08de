// A Chromium of its own, and what the tests do with its pages.

import assert from 'node:assert/strict'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { chromium } from 'playwright-core'

const artifacts = process.env.ARTIFACTS
if (artifacts) mkdirSync(artifacts, { recursive: true })

export const patience = 120_000 // a busy machine may be slow; what never comes is told as well after two minutes

/** In a page: keeps what its toasts have said, because they go by themselves. */
function noteToasts() {
  window.toasts = []
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) if (node instanceof Element && node.matches('.toast, .toasts, .app')) note(node)
    }
  }).observe(document, { childList: true, subtree: true })
  function note(node) {
    for (const toast of node.matches('.toast') ? [node] : node.querySelectorAll('.toast')) window.toasts.push(toast.querySelector('span').textContent)
  }
}

/** Waits until a toast of the page has said so, whether it is still there or not. */
export const toasted = (page, text) => page.waitForFunction((text) => window.toasts?.some((said) => said.includes(text)), text).catch(async (error) => {
  throw new Error(`no toast said ${text}, but ${JSON.stringify(await page.evaluate(() => window.toasts))}`, { cause: error })
})

/** Toasts that a page shows from now on stay until somebody takes them away. */
export const keepToasts = (page) => page.evaluate(() => {
  const { setTimeout } = window
  window.setTimeout = (f, ms, ...rest) => ([4_000, 9_000, 15_000].includes(ms) ? 0 : setTimeout(f, ms, ...rest))
})

/** Waits until what is read is as wanted; where that may change too, it is read as well. */
export async function becomes(read, wanted, message) {
  for (const until = Date.now() + patience; ; await new Promise((next) => setTimeout(next, 50))) {
    const [got, want] = [await read(), typeof wanted === 'function' ? await wanted() : wanted]
    if (isDeepStrictEqual(got, want)) return
    if (Date.now() > until) assert.deepEqual(got, want, message)
  }
}

/** Opens the palette, and runs the entry that is found by some words. */
export async function palette(page, words) {
  await openPalette(page)
  await page.getByRole('combobox', { name: 'Jump to' }).fill(words)
  await page.keyboard.press('Enter')
}

/** A page that was just drawn hears no key yet. One that it has heard is drawn with the next frame: pressed again, it would close the palette. */
export async function openPalette(page) {
  for (const until = Date.now() + patience; ;) {
    await page.keyboard.press('Control+Shift+K')
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    if (await page.getByRole('combobox', { name: 'Jump to' }).isVisible()) return
    assert.ok(Date.now() < until, 'no palette opens')
  }
}

/** In a page: nothing is heard of the server's events while window.held is set. */
export function canHoldEvents() {
  const { fetch } = window
  window.fetch = async (what, ...how) => {
    const response = await fetch(what, ...how)
    if (!String(what.url ?? what).includes('/events')) return response
    return new Response(response.body.pipeThrough(new TransformStream({
      async transform(chunk, to) {
        while (window.held) await new Promise((next) => setTimeout(next, 20))
        to.enqueue(chunk)
      },
    })), response)
  }
}

/** Starts one for tests; more are further arguments of it. */
export async function launch(...more) {
  const browser = await start(...more)
  const newContext = browser.newContext.bind(browser)
  browser.newContext = async (...how) => {
    const context = await newContext(...how)
    await context.addInitScript(noteToasts)
    return context
  }
  return browser
}

/** Starts one, whose pages are as they are. */
export async function start(...more) {
  const args = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', ...more]
  if (process.getuid?.() === 0) args.push('--no-sandbox')
  const browser = await chromium.launch({ executablePath: findChromium(), args, timeout: patience })
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

/** Waits until a line of the shown terminal matches, and returns the last match. */
export async function seen(page, pattern) {
  const found = await page.waitForFunction(([source, flags, call]) => {
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
    const textAt = (i) => active.getLine(i).translateToString(true)
    for (let i = active.length - 1; i >= (first ? 0 : active.length - 2_000) && i >= 0; i--) {
      if (!wanted.test(textAt(i))) continue
      let [from, whole] = [i, '']
      while (active.getLine(from).isWrapped && from > 0) from--
      do whole += textAt(from++); while (active.getLine(from)?.isWrapped)
      return whole.match(wanted) ?? textAt(i).match(wanted)
    }
    return false
  }, [pattern.source, pattern.flags, ++calls]).catch(async (error) => {
    throw new Error(`${pattern} did not appear; the terminal has:\n${(await lines(page)).filter(Boolean).slice(-30).join('\n')}`, { cause: error })
  })
  return found.jsonValue()
}

/** Waits until the bar over a terminal says how its program ended: notices may say the same of others. */
export const ended = (page, words) => page.locator('.exit').filter({ hasText: words }).waitFor()

/** Types a command line into the shown terminal, in one go: an echo for each key takes long where much is typed. */
export async function run(page, command) {
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.insertText(command)
  await page.keyboard.press('Enter')
}
