// The words for states, in one place.

import type { Exit, Session, Writer } from './api'

export function exitWords(exit: Exit): string {
  if (exit.signal) return `Ended by ${exit.signal_name || `signal ${exit.signal}`}`
  return `Exited with code ${exit.code}`
}

export function stateWords(s: Session): string {
  switch (s.state) {
    case 'exited':
      return s.exit ? exitWords(s.exit) : 'Exited'
    case 'failed':
      return s.error ? `Could not start: ${s.error}` : 'Could not start'
    case 'lost':
      return 'Lost: its owner died without an exit record'
    case 'unreachable':
      return 'Does not answer; it may still be running'
    case 'starting':
      return 'Starting'
    case 'stopping':
      return 'Stopping'
    case 'running':
      return 'Running'
  }
}

/** A word for the colour of a session's dot. */
export function tone(s: Session): string {
  if (s.state === 'exited') return s.exit && (s.exit.code !== 0 || s.exit.signal) ? 'bad' : 'done'
  if (s.state === 'failed' || s.state === 'lost') return 'bad'
  if (s.state === 'unreachable') return 'unknown'
  return s.state === 'running' ? 'live' : 'busy'
}

/** What nobody has seen yet of a session's output, or ''. */
export function unseenWords(s: Session): '' | 'Bell' | 'New output' {
  if (!s.unseen?.bytes) return ''
  return s.unseen.bell ? 'Bell' : 'New output'
}

/** Who types at a session, such as "another browser window". */
export function writerWords(writer?: Writer): string {
  if (writer?.client === 'web') return 'another browser window'
  return writer?.client ? `“${writer.client}”` : 'another viewer'
}

export function sinceWords(writer?: Writer): string {
  return writer?.since ? ` since ${clock(writer.since)}` : ''
}

function clock(time: string): string {
  return new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
}

export function seconds(from: string, to?: string): string {
  const ms = (to ? Date.parse(to) : Date.now()) - Date.parse(from)
  return ms < 1000 ? `${Math.max(ms, 0)} ms` : `${(ms / 1000).toFixed(1)} s`
}

export function plural(n: number, one: string, many = one + 's'): string {
  return `${n} ${n === 1 ? one : many}`
}

/** Splits a command line into words; what needs a shell is given to one. */
export function toArgv(line: string): string[] {
  if (/[|&;<>()$`*?[\]#~=%!{}\n\\]/.test(line)) return ['sh', '-c', line]
  const words = line.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) ?? []
  return words.map((word) => word.replace(/["']/g, ''))
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)
export const paletteKeys = isMac ? '⌘K' : 'Ctrl Shift K'

/** Text of a program, with what would hide or reorder it spelled out. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/gu, (c) => (c === '\n' ? '\\n' : `\\u{${c.codePointAt(0)!.toString(16)}}`))
}
