// The rows that a diff is shown as: one list over all files, so that only those
// on the screen need to be drawn.

import { isOn } from './comments'
import type { Comment } from './comments'
import type { Hunk, Line, PatchFile } from './patch'

export type Row =
  | { is: 'file'; key: string; file: PatchFile; folded: boolean }
  | { is: 'note'; key: string; text: string }
  | { is: 'hunk'; key: string; hunk: Hunk }
  | { is: 'line'; key: string; file: PatchFile; hunk: Hunk; line: Line }
  | { is: 'pair'; key: string; file: PatchFile; hunk: Hunk; old?: Line; new?: Line }
  | { is: 'comment'; key: string; comment: Comment }
  | { is: 'editor'; key: string; file: PatchFile; line: Line; comment?: Comment }

export interface Shown {
  folded: Set<string>
  split: boolean
  comments: Comment[]
  /** The line that is being commented on. */
  editing?: { path: string; line: Line }
}

export function rowsOf(files: PatchFile[], shown: Shown): Row[] {
  const rows: Row[] = []
  files.forEach((file, f) => {
    const folded = shown.folded.has(file.path)
    rows.push({ is: 'file', key: `f${f}`, file, folded })
    if (folded) return
    const note = noteOf(file)
    if (note) rows.push({ is: 'note', key: `n${f}`, text: note })
    const comments = shown.comments.filter((c) => c.path === file.path)
    const editing = shown.editing?.path === file.path ? shown.editing.line : undefined
    file.hunks.forEach((hunk, h) => {
      const key = `${f}.${h}`
      rows.push({ is: 'hunk', key: `h${key}`, hunk })
      const after = (line: Line | undefined, id: string) => {
        if (!line) return
        const written = comments.find((c) => isOn(c, file.path, line))
        if (editing === line) rows.push({ is: 'editor', key: `e${id}`, file, line, comment: written })
        else if (written) rows.push({ is: 'comment', key: `c${id}`, comment: written })
      }
      if (!shown.split) {
        hunk.lines.forEach((line, l) => {
          rows.push({ is: 'line', key: `l${key}.${l}`, file, hunk, line })
          if (comments.length > 0 || editing) after(line, `${key}.${l}`)
        })
        return
      }
      pairsOf(hunk).forEach(([old, now], l) => {
        rows.push({ is: 'pair', key: `p${key}.${l}`, file, hunk, old, new: now })
        if (comments.length === 0 && !editing) return
        if (old !== now) after(old, `${key}.${l}o`)
        after(now, `${key}.${l}n`)
      })
    })
  })
  return rows
}

function noteOf(file: PatchFile): string {
  if (file.binary) return 'A binary file, or one that is too large to be compared line by line.'
  if (file.hunks.length > 0) return ''
  if (file.change === 'renamed') return 'Renamed without other changes.'
  if (file.mode) return `Its mode is ${file.mode} now.`
  return file.change === 'added' ? 'An empty file.' : 'No lines to show.'
}

/** The lines side by side: twins in one row, and so is what both sides have. */
function pairsOf(hunk: Hunk): [Line | undefined, Line | undefined][] {
  const pairs: [Line | undefined, Line | undefined][] = []
  for (const line of hunk.lines) {
    if (line.type === ' ') pairs.push([line, line])
    else if (line.type === '-') pairs.push([line, line.twin])
    else if (!line.twin) pairs.push([undefined, line])
  }
  return pairs
}
