import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Close, Down, Right } from '../ui/icons'
import { visible, visibleLines } from '../words'
import { marked } from './colours'
import type { Comment } from './comments'
import type { Line, PatchFile } from './patch'
import type { Row } from './rows'

interface Props {
  row: Row
  onFold: (path: string) => void
  onComment: (path: string, line: Line) => void
  onWrite: (file: PatchFile, line: Line, text: string) => void
  onCancel: () => void
  onEdit: (comment: Comment) => void
  onRemove: (comment: Comment) => void
}

/** One row of a diff. Whatever the repository has in it is shown as text, what would hide or reorder it spelled out. */
export function DiffRow(p: Props) {
  const { row } = p
  switch (row.is) {
    case 'file':
      return <FileHead file={row.file} folded={row.folded} onFold={p.onFold} />
    case 'note':
      return <p class="diff-note hint">{row.text}</p>
    case 'hunk':
      return <div class="diff-hunk">Line {row.hunk.newStart || row.hunk.oldStart}{row.hunk.section && <span> · {visible(row.hunk.section)}</span>}</div>
    case 'line':
      return (
        <div class={`diff-line ${classOf(row.line)}`}>
          <Number line={row.line} number={row.line.old} hidden />
          <Number line={row.line} number={row.line.new || row.line.old} onClick={() => p.onComment(row.file.path, row.line)} only={row.line.type === '-'} />
          <Code line={row.line} />
        </div>
      )
    case 'pair':
      return (
        <div class="diff-pair">
          <Half line={row.old} side="old" path={row.file.path} onComment={p.onComment} />
          <Half line={row.new} side="new" path={row.file.path} onComment={p.onComment} />
        </div>
      )
    case 'comment':
      return (
        <div class="diff-comment">
          <p>{visibleLines(row.comment.text)}</p>
          <span>
            <button class="quiet small" onClick={() => p.onEdit(row.comment)}>Change</button>
            <button class="quiet square small" aria-label="Remove the comment" onClick={() => p.onRemove(row.comment)}><Close /></button>
          </span>
        </div>
      )
    case 'editor':
      return <Editor file={row.file} line={row.line} comment={row.comment} onWrite={p.onWrite} onCancel={p.onCancel} />
  }
}

function FileHead({ file, folded, onFold }: { file: PatchFile; folded: boolean; onFold: (path: string) => void }) {
  const word = file.mark ?? { added: 'new', deleted: 'deleted', renamed: 'renamed', changed: '' }[file.change]
  return (
    <button class="diff-file" aria-expanded={!folded} onClick={() => onFold(file.path)}>
      {folded ? <Right /> : <Down />}
      <span class="diff-name"><bdi>{file.from && `${visible(file.from)} → `}{visible(file.path)}</bdi></span>
      {word && <span class={`diff-word ${word}`}>{word}</span>}
      <span class="plus">+{file.added}</span><span class="minus">−{file.deleted}</span>
    </button>
  )
}

const classOf = (line?: Line) => (!line ? 'absent' : { ' ': 'same', '+': 'added', '-': 'removed' }[line.type])

/** A line’s number, which is also how to comment on it. */
function Number({ line, number, onClick, hidden, only }: { line: Line; number: number; onClick?: () => void; hidden?: boolean; only?: boolean }) {
  if (hidden || !onClick) return <span class="diff-number wide" aria-hidden="true">{number || ''}</span>
  return (
    <button class="diff-number" onClick={onClick} aria-label={`Comment on ${line.type === '-' ? 'removed ' : ''}line ${number}`} title="Comment on this line">
      <span class={only ? 'narrow' : ''}>{number}</span>
    </button>
  )
}

function Half({ line, side, path, onComment }: { line?: Line; side: 'old' | 'new'; path: string; onComment: (path: string, line: Line) => void }) {
  if (!line) return <div class="diff-line absent" />
  const number = side === 'old' ? line.old : line.new
  return (
    <div class={`diff-line ${classOf(line)}`}>
      {side === 'old' && line.type === ' '
        ? <span class="diff-number" aria-hidden="true">{number}</span>
        : <Number line={line} number={number} onClick={() => onComment(path, line)} />}
      <Code line={line} />
    </div>
  )
}

const longest = 4000 // characters of a line that are shown

function Code({ line }: { line: Line }) {
  const cut = line.text.length > longest
  return (
    <code>
      {cut ? visibleLines(line.text.slice(0, longest)) : marked(line).map((piece, i) => (
        <span key={i} class={`${piece.kind ? `c-${piece.kind}` : ''}${piece.changed ? ' word' : ''}`}>{visibleLines(piece.text)}</span>
      ))}
      {cut && <span class="hint"> … {line.text.length - longest} more characters</span>}
      {line.open && <span class="hint"> (no newline at the end)</span>}
    </code>
  )
}

function Editor({ file, line, comment, onWrite, onCancel }: { file: PatchFile; line: Line; comment?: Comment; onWrite: Props['onWrite']; onCancel: () => void }) {
  const [text, setText] = useState(comment?.text ?? '')
  const box = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => box.current?.focus(), [])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onCancel()
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onWrite(file, line, text)
    else return
    event.preventDefault()
  }
  return (
    <div class="diff-editor">
      <textarea ref={box} rows={3} aria-label={`Comment on line ${line.new || line.old} of ${visible(file.path)}`} placeholder="What the agent should know about this line"
        value={text} onInput={(e) => setText(e.currentTarget.value)} onKeyDown={onKeyDown} />
      <div class="diff-editor-actions">
        <button class="quiet" onClick={onCancel}>Cancel</button>
        <button class="primary" disabled={!text.trim() && !comment} onClick={() => onWrite(file, line, text)}>Keep comment</button>
      </div>
    </div>
  )
}
