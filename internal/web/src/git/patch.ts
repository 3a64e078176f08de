// Reads git's patch text. What it does not know it passes over: the text comes
// from a repository, and its names are only ever shown.

export interface Line {
  type: ' ' | '+' | '-'
  /** Line numbers; 0 on the side where the line is not. */
  old: number
  new: number
  text: string
  /** The file ends here without a newline. */
  open?: boolean
  /** The line that stands for this one on the other side, where both are changed. */
  twin?: Line
}

export interface Hunk {
  oldStart: number
  newStart: number
  /** What git found above it, such as the function. */
  section: string
  lines: Line[]
}

export interface PatchFile {
  path: string
  from?: string
  change: 'added' | 'deleted' | 'changed' | 'renamed'
  binary: boolean
  mode?: string
  /** What the patch does not say: that git does not know the file, or that it is in conflict. */
  mark?: 'untracked' | 'conflict'
  added: number
  deleted: number
  hunks: Hunk[]
}

const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/

export function parsePatch(text: string): PatchFile[] {
  const files: PatchFile[] = []
  const lines = text.split('\n')
  let file: PatchFile | undefined
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]
    if (line.startsWith('diff --git ')) {
      file = { path: pathOfHead(line.slice('diff --git '.length)), change: 'changed', binary: false, added: 0, deleted: 0, hunks: [] }
      files.push(file)
    } else if (!file) continue
    else if (line.startsWith('@@ ')) at = readHunk(lines, at, file)
    else readHead(line, file)
  }
  return files
}

/** Reads a line between a file's first line and its hunks. */
function readHead(line: string, file: PatchFile): void {
  const [word, rest] = cut(line)
  if (line.startsWith('new file mode ')) file.change = 'added'
  else if (line.startsWith('deleted file mode ')) file.change = 'deleted'
  else if (line.startsWith('new mode ')) file.mode = line.slice('new mode '.length)
  else if (line.startsWith('rename from ')) {
    file.from = unquote(line.slice('rename from '.length))
    file.change = 'renamed'
  } else if (line.startsWith('rename to ')) file.path = unquote(line.slice('rename to '.length))
  else if (line.startsWith('Binary files ')) file.binary = true
  else if (word === '+++' && rest !== '/dev/null') file.path = side(rest)
  else if (word === '---' && rest !== '/dev/null' && file.change === 'deleted') file.path = side(rest)
}

/** Reads a hunk whose head is at a line; returns the last line that is part of it. */
function readHunk(lines: string[], at: number, file: PatchFile): number {
  const head = lines[at].match(hunkHead)
  if (!head) return at
  const [, oldStart, oldCount = '1', newStart, newCount = '1', section] = head
  const hunk: Hunk = { oldStart: Number(oldStart), newStart: Number(newStart), section, lines: [] }
  let oldLeft = Number(oldCount), newLeft = Number(newCount)
  let oldAt = hunk.oldStart, newAt = hunk.newStart
  for (; at + 1 < lines.length; at++) {
    const line = lines[at + 1]
    const type = line[0] as Line['type'] | '\\'
    if (type === '\\') {
      const last = hunk.lines.at(-1)
      if (last) last.open = true
      continue
    }
    if (oldLeft <= 0 && newLeft <= 0) break
    if (type !== ' ' && type !== '+' && type !== '-') break
    hunk.lines.push({ type, old: type === '+' ? 0 : oldAt++, new: type === '-' ? 0 : newAt++, text: line.slice(1) })
    if (type !== '+') oldLeft--
    if (type !== '-') newLeft--
    if (type === '+') file.added++
    if (type === '-') file.deleted++
  }
  pair(hunk.lines)
  file.hunks.push(hunk)
  return at
}

/** Lines that were removed, and the ones that follow in their place, are twins in order. */
function pair(lines: Line[]): void {
  for (let at = 0; at < lines.length;) {
    const removed = run(lines, at, '-')
    const added = run(lines, at + removed.length, '+')
    removed.forEach((line, i) => {
      if (!added[i]) return
      line.twin = added[i]
      added[i].twin = line
    })
    at += removed.length + added.length || 1
  }
}

function run(lines: Line[], from: number, type: string): Line[] {
  let to = from
  while (lines[to]?.type === type) to++
  return lines.slice(from, to)
}

const cut = (line: string): [string, string] => {
  const at = line.indexOf(' ')
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}

/** A name after --- or +++: without a/ or b/, and without the tab that git puts after one with a space. */
const side = (name: string) => unquote(name.replace(/\t$/, '')).replace(/^[ab]\//, '')

/** The name in "a/NAME b/NAME", which is the same twice unless the file was renamed, and then named again. */
function pathOfHead(rest: string): string {
  if (rest.startsWith('"')) {
    const end = rest.search(/[^\\]" /)
    return side(rest.slice(0, end < 0 ? undefined : end + 2))
  }
  return side(rest.slice(0, (rest.length - 1) / 2))
}

const escapes: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 }

/** Undoes git's quoting of a name: "\303\244" are the bytes of ä. */
export function unquote(name: string): string {
  if (!name.startsWith('"') || !name.endsWith('"') || name.length < 2) return name
  const bytes: number[] = []
  for (const [, octal, letter, plain] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gsu)) {
    if (octal) bytes.push(parseInt(octal, 8))
    else if (letter) bytes.push(escapes[letter] ?? letter.charCodeAt(0))
    else bytes.push(...new TextEncoder().encode(plain))
  }
  return new TextDecoder().decode(Uint8Array.from(bytes))
}
