// What figures.mjs runs in pages. Each function stands alone: its text goes to the
// page.

/** Has the program print, and waits for its last line: milliseconds, gaps between frames, whether skipping was said. */
export async function flood(mark) {
  const { terminal } = document.querySelector('.terminal-host')
  const gaps = []
  let lagged = false
  let last = performance.now()
  let frame = requestAnimationFrame(function count(now) {
    gaps.push(now - last)
    last = now
    lagged ||= /Lagging/.test(document.querySelector('.banner')?.textContent ?? '')
    frame = requestAnimationFrame(count)
  })
  const began = performance.now()
  terminal.input(`${mark}\r`)
  await new Promise((resolve) => {
    const line = new RegExp(`printed-${mark}$`)
    const watcher = terminal.onWriteParsed(() => {
      const { active } = terminal.buffer
      for (let y = active.length - 1; y >= Math.max(active.length - terminal.rows, 0); y--) {
        if (!line.test(active.getLine(y).translateToString(true))) continue
        watcher.dispose()
        return resolve()
      }
    })
  })
  cancelAnimationFrame(frame)
  return { ms: performance.now() - began, gaps: gaps.slice(1), lagged }
}

/** Starts a flood, presses ctrl-C in it: when, in milliseconds since 1970, and how many later the page shows its end. */
export async function interrupt(round) {
  const { terminal } = document.querySelector('.terminal-host')
  const line = new RegExp(`stopped-${round}$`)
  let writes = 0
  let at
  return new Promise((resolve) => {
    const watcher = terminal.onWriteParsed(() => {
      if (++writes < 20) return
      if (at === undefined) {
        at = Date.now()
        return terminal.input('\x03')
      }
      const { active } = terminal.buffer
      for (let y = active.length - 1; y >= Math.max(active.length - 5, 0); y--) {
        if (!line.test(active.getLine(y).translateToString(true))) continue
        watcher.dispose()
        return resolve({ at, shown: Date.now() - at })
      }
    })
    terminal.input(`${round}\r`)
  })
}

/** Types keys, and returns how long each took until the screen had it. */
export async function echo(keys) {
  const { terminal } = document.querySelector('.terminal-host')
  const took = []
  for (let i = 0; i < keys; i++) {
    const began = performance.now()
    await new Promise((resolve) => {
      const watcher = terminal.onWriteParsed(() => {
        watcher.dispose()
        resolve()
      })
      terminal.input('vwxyz'[i % 5])
    })
    took.push(performance.now() - began)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return took
}

/** Goes from tab to tab, and returns how long each took until its terminal was attached and drawn. */
export async function switchTabs(times) {
  const took = []
  const task = () => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = resolve
    port2.postMessage(0)
  })
  for (let i = 0; i < times; i++) {
    const tabs = document.querySelectorAll('[role=tab]')
    const at = [...tabs].findIndex((tab) => tab.ariaSelected === 'true')
    const before = document.querySelector('.terminal-host')
    const began = performance.now()
    tabs[(at + 1) % tabs.length].click()
    for (;;) {
      await task()
      const host = document.querySelector('.terminal-host')
      const { buffer } = host?.terminal ?? {}
      if (host !== before && document.querySelector('.screen').dataset.phase === 'attached' && (buffer.active.baseY > 0 || buffer.active.cursorY > 0)) break
    }
    await new Promise(requestAnimationFrame)
    took.push(performance.now() - began)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return took
}

/** Notes when the list is drawn, in milliseconds since the page was asked for. */
export function watchStart() {
  new MutationObserver((_, observer) => {
    if (!document.querySelector('.home .item')) return
    observer.disconnect()
    requestAnimationFrame(() => setTimeout(() => { window.listed = performance.now() }))
  }).observe(document, { childList: true, subtree: true })
}
