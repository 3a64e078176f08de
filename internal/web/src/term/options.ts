// The choices of a dialog that an agent shows on its screen, such as
// "❯ 1. Yes" and "2. No".

import type { Terminal } from '@xterm/xterm'

export interface Choice {
  key: string
  text: string
}

const choice = /^[\s│┃|]*(?:[❯›>●*]\s*)?([1-9])[.)]\s+(\S.*?)[\s│┃|]*$/

/** The last list of the lines that is numbered from 1, with at least two entries; or none. */
export function choicesIn(lines: string[]): Choice[] {
  let found: Choice[] = []
  let list: Choice[] = []
  for (const line of lines) {
    const match = choice.exec(line)
    if (!match) continue
    const [, key, text] = match
    if (key === '1') list = []
    if (Number(key) === list.length + 1) list.push({ key, text })
    if (list.length > 1) found = list
  }
  return found
}

/** The rows of the screen itself, however far it is scrolled back. */
export function screenLines(terminal: Terminal): string[] {
  const { active } = terminal.buffer
  return Array.from({ length: terminal.rows }, (_, y) => active.getLine(active.baseY + y)?.translateToString(true) ?? '')
}
