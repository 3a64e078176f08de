// The words for states, in one place.

import type { Denial, Exit, Sandbox, Session, SessionBundle, Writer } from './api'

export function exitWords(exit: Exit): string {
  if (exit.stopped) return `Stopped (${exit.signal_name || exit.code})`
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
      return agentWords(s) || 'Running'
    default:
      return visible(s.state) // of a newer machine
  }
}

/** What a session's agent does, such as "Waiting for a permission: Bash: make", or ''. */
export function agentWords(s: Session): string {
  if (s.state !== 'running' || !s.agent || s.agent.state === 'unknown') return ''
  const { state, kind, reason } = s.agent
  const what = state === 'waiting' && kind ? `Waiting for ${article[kind]}` : kind === 'background' ? 'Idle, but work runs' : state[0].toUpperCase() + state.slice(1)
  return reason ? `${what}: ${visible(reason)}` : what
}

const article: Record<string, string> = {
  permission: 'a permission', question: 'an answer', login: 'a login', 'rate limit': 'its rate limit',
}

/** Whether the session waits for the user. */
export const needsYou = (s: Session) => s.attention.group === 'needs-you'

/** How long ago it was, such as "3 min". */
export function ago(time?: string): string {
  if (!time) return ''
  const s = Math.max(0, (Date.now() - Date.parse(time)) / 1000)
  return s < 60 ? 'now' : s < 3600 ? `${Math.floor(s / 60)} min` : s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`
}

/** The signals that ask a program to end: an owner of before 'stopped' says no more of a stop. */
const asks = new Set([1, 2, 15])

/** A word for the colour of a session's dot. */
export function tone(s: Session): string {
  if (s.state === 'exited') return s.exit && !s.exit.stopped && (s.exit.signal ? !asks.has(s.exit.signal) : s.exit.code !== 0) ? 'bad' : 'done'
  if (s.state === 'failed' || s.state === 'lost') return 'bad'
  if (s.state === 'unreachable') return 'unknown'
  if (needsYou(s)) return 'needs'
  if (s.attention.group === 'unknown') return 'unknown'
  if (s.state === 'running' && s.agent?.state === 'working') return 'live works'
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

/** The time of a day. */
export function clock(time: string): string {
  return new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
}

export function seconds(from: string, to?: string): string {
  const ms = (to ? Date.parse(to) : Date.now()) - Date.parse(from)
  return ms < 1000 ? `${Math.max(ms, 0)} ms` : `${(ms / 1000).toFixed(1)} s`
}

export function plural(n: number, one: string, many = one + 's'): string {
  return `${n} ${n === 1 ? one : many}`
}

/** What runs a command line as it was typed, quotes and all. */
export const toArgv = (line: string): string[] => ['sh', '-c', line]

/** A name for a session that runs a command line: its program's, or none where that is no name. */
export function nameFor(line: string, taken: string[]): string | undefined {
  const name = line.trim().match(/^(?:\S*\/)?([A-Za-z0-9][\w.-]{0,40})(?:\s|$)/)?.[1]
  if (!name || !taken.includes(name)) return name
  for (let n = 2; ; n++) if (!taken.includes(`${name}-${n}`)) return `${name}-${n}`
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)
export const paletteKeys = isMac ? '⌘K' : 'Ctrl Shift K'

/** What hides or reorders text; a picture with the one selector that it may have comes first. */
const hidden = /((?!\u2800)\p{So}[\ufe0e\ufe0f])|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800\u{16fe4}\u{1d159}]/gu

/** Text of a program, with what would hide or reorder it spelled out. */
export function visible(text: string): string {
  return text.replace(hidden, (c, picture) => picture ?? (c === '\n' ? '\\n' : `\\u{${c.codePointAt(0)!.toString(16)}}`))
}

/** The same for several lines, which stay lines, with their tabs. */
export const visibleLines = (text: string) => text.split(/([\n\t])/).map((part) => (/^[\n\t]$/.test(part) ? part : visible(part))).join('')

/** What a network list refused, one line each. */
export function denialWords(list: Denial[]): string {
  return list.map((d) => `${new Date(d.time).toLocaleTimeString()} ${visible(`${d.via} ${d.target}: ${d.rule}`)}`).join('\n')
}

/** What a session's bundle is, what it got, and whether it has moved since, one line each. */
export function bundleWords(b: SessionBundle): string {
  const lines = [`profile ${b.profile} of bundle ${b.id}, revision ${b.revision}`, `digest: ${b.digest}`]
  for (const g of b.grants ?? []) {
    const what = g.given ?? g.reason
    lines.push(`${g.result}: ${g.asked}${what ? `, ${what}` : ''} (${g.rule})`)
  }
  if (b.moved) lines.push(b.moved.digest ? `moved since: revision ${b.moved.revision}, digest ${b.moved.digest}` : 'moved since: it is not stored any more')
  return lines.map(visible).join('\n')
}

/** What a session's sandbox does, one line each. */
export function sandboxWords(b: Sandbox): string {
  const lines = [
    ['level', `${b.level}, by ${b.method}`], ['policy', b.digest], ['writable', (b.writable ?? []).join(', ')], ['copies', (b.private ?? []).join(', ')],
    ['temporary files', b.temp], ['network', b.network], ['secrets', (b.secrets ?? []).join(', ')], ['limits', b.limits], ['not covered', b.not_covered ?? ''],
  ]
  return lines.filter(([, is]) => is).map(([what, is]) => `${what}: ${visible(is)}`).join('\n')
}
