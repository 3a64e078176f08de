// Keys that a phone's keyboard does not have, as the bytes that a terminal sends
// for them (xterm's control sequences).

export type Held = { ctrl: boolean; alt: boolean }

const cursor: Record<string, string> = { up: 'A', down: 'B', right: 'C', left: 'D', home: 'H', end: 'F' }
const edit: Record<string, number> = { pageup: 5, pagedown: 6 }

/** What a named key, or a text, sends with what is held. */
export function bytesOf(key: string, held: Held, applicationCursor: boolean): string {
  const modifier = 1 + (held.alt ? 2 : 0) + (held.ctrl ? 4 : 0)
  if (cursor[key]) {
    if (modifier > 1) return `\x1b[1;${modifier}${cursor[key]}`
    return (applicationCursor ? '\x1bO' : '\x1b[') + cursor[key]
  }
  if (edit[key]) return modifier > 1 ? `\x1b[${edit[key]};${modifier}~` : `\x1b[${edit[key]}~`
  return withHeld(key, held)
}

/** Text with what is held; only one character can be. */
export function withHeld(text: string, held: Held): string {
  if ([...text].length !== 1) return text
  const typed = held.ctrl ? withCtrl(text) : text
  return held.alt ? '\x1b' + typed : typed
}

function withCtrl(character: string): string {
  if (character === ' ') return '\0'
  if (character === '?') return '\x7f'
  const code = character.toUpperCase().charCodeAt(0)
  return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code & 0x1f) : character
}

/** Answers to a program's questions, and whether the terminal has the focus. */
const report = /^\x1b(?:\[[IO]|\[[?>=]?[\d;]*(?:[cnRt]|\$y)|\[\?\d+u|[P\]][^]+)$/
const mouse = /^\x1b\[(?:M|<)/
const pasted = /\x1b\[20[01]~/g

/** How many keys the data of a terminal is, 0 for the mouse; undefined where the terminal reports something by itself. */
export function keysIn(data: string): number | undefined {
  if (report.test(data)) return undefined
  if (mouse.test(data)) return 0
  const text = data.replace(pasted, '')
  return text.startsWith('\x1b') ? 1 : [...text].length
}
