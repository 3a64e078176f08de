// What a program prints as FILE:LINE leads to that line of the workspace's
// changes.

import type { IBufferLine, ILink, Terminal } from '@xterm/xterm'
import { showLine } from '../git/target'

const place = /(?<![\w/.-])((?:\.{0,2}\/)?(?:[\w@+.-]+\/)*[\w@+-][\w@+.-]*\.[A-Za-z]\w{0,9}):(\d{1,7})(?::\d+)?/g

export function registerFileLinks(terminal: Terminal, session: string): void {
  terminal.registerLinkProvider({
    provideLinks(y, answer) {
      const line = terminal.buffer.active.getLine(y - 1)
      answer(line && linksOf(line, y, session))
    },
  })
}

function linksOf(line: IBufferLine, y: number, session: string): ILink[] {
  const text = line.translateToString(true)
  return [...text.matchAll(place)].map((match) => ({
    text: match[0],
    range: { start: { x: columnOf(line, match.index) + 1, y }, end: { x: columnOf(line, match.index + match[0].length), y } },
    activate: () => showLine(session, match[1], Number(match[2])),
  }))
}

/** The column where a character of the line's text stands: wide ones before it take two. */
function columnOf(line: IBufferLine, index: number): number {
  let at = 0
  for (let x = 0; x < line.length; x++) {
    if (at >= index) return x
    const cell = line.getCell(x)!
    if (cell.getWidth() > 0) at += cell.getChars().length || 1
  }
  return line.length
}
