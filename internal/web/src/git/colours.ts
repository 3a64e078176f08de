// Syntax colours and word differences of the lines of a patch. Both are made
// for the lines that are shown, and only text and our own class names come out.

import { diffArrays } from 'diff/lib/diff/array.js'
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import scss from 'highlight.js/lib/languages/scss' // beside css, and others beside what they are like: they are compressed together
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import typescript from 'highlight.js/lib/languages/typescript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import lua from 'highlight.js/lib/languages/lua'
import makefile from 'highlight.js/lib/languages/makefile'
import markdown from 'highlight.js/lib/languages/markdown'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import type { Hunk, Line } from './patch'

const languages = {
  bash, c, cpp, csharp, css, dockerfile, go, ini, java, javascript, json, kotlin, lua, makefile, markdown, php,
  python, ruby, rust, scss, sql, swift, typescript, xml, yaml,
}
for (const [name, define] of Object.entries(languages)) hljs.registerLanguage(name, define)

const byEnding: Record<string, string> = {
  sh: 'bash', zsh: 'bash', h: 'c', cc: 'cpp', cxx: 'cpp', hpp: 'cpp', hh: 'cpp', cs: 'csharp', toml: 'ini', cfg: 'ini', conf: 'ini',
  js: 'javascript', mjs: 'javascript', cjs: 'javascript', jsx: 'javascript', ts: 'typescript', tsx: 'typescript', mts: 'typescript',
  kt: 'kotlin', mk: 'makefile', md: 'markdown', py: 'python', rb: 'ruby', rs: 'rust', html: 'xml', htm: 'xml', svg: 'xml', vue: 'xml', yml: 'yaml',
}

function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  if (name === 'makefile' || name === 'dockerfile') return name
  const ending = name.slice(name.lastIndexOf('.') + 1)
  const language = byEnding[ending] ?? ending
  return Object.hasOwn(languages, language) ? language : undefined
}

/** A piece of a line in one colour. */
export interface Piece {
  text: string
  kind?: string
}

// The kinds that the style sheet has a colour for, by the first word of what the library finds.
const kinds: Record<string, string> = {
  keyword: 'keyword', built_in: 'type', type: 'type', literal: 'literal', number: 'literal', string: 'string', regexp: 'string',
  subst: 'plain', symbol: 'literal', class: 'type', function: 'name', title: 'name', params: 'plain', comment: 'comment', doctag: 'comment',
  meta: 'meta', section: 'name', tag: 'plain', name: 'keyword', attr: 'name', attribute: 'name', variable: 'plain', bullet: 'keyword',
  code: 'string', emphasis: 'plain', strong: 'name', link: 'string', quote: 'comment', 'selector-tag': 'keyword', 'selector-class': 'name',
  'selector-id': 'name', 'selector-attr': 'name', 'selector-pseudo': 'name', addition: 'string', deletion: 'keyword', property: 'name',
}

const blockLines = 200 // are coloured at once
const longLine = 600 // characters; a longer one stays as it is, and so does what is around it
const coloured = new WeakMap<Line, Piece[]>()
const tried = new WeakSet<Line>()

/** The colours of a line, where they are known already. */
export const colourOf = (line: Line) => coloured.get(line)

/** Colours the block that a line is in; returns whether there is anything new to draw. */
export function colour(path: string, hunk: Hunk, line: Line): boolean {
  if (tried.has(line)) return false
  const language = languageOf(path)
  const at = Math.max(hunk.lines.indexOf(line), 0)
  const first = at - (at % blockLines)
  const block = hunk.lines.slice(first, first + blockLines)
  for (const l of block) tried.add(l)
  if (!language) return false
  paint(language, block.filter((l) => l.type !== '+'))
  paint(language, block.filter((l) => l.type !== '-')) // last: it counts for the lines that both sides have
  return true
}

function paint(language: string, lines: Line[]): void {
  if (lines.some((l) => l.text.length > longLine)) return
  const tree = hljs.highlight(lines.map((l) => l.text).join('\n'), { language, ignoreIllegals: true })._emitter.rootNode
  let at = 0
  let pieces: Piece[] = []
  const walk = (node: Node | string, kind?: string): void => {
    if (typeof node !== 'string') {
      const own = node.scope?.split('.')[0]
      const of = own && Object.hasOwn(kinds, own) ? kinds[own] : kind
      for (const child of node.children) walk(child, of)
      return
    }
    node.split('\n').forEach((text, i) => {
      if (i > 0) {
        coloured.set(lines[at++], pieces)
        pieces = []
      }
      if (text) pieces.push({ text, kind })
    })
  }
  walk(tree)
  if (lines[at]) coloured.set(lines[at], pieces)
}

interface Node {
  scope?: string
  children: (Node | string)[]
}

/** What of a line differs from its twin: ranges of characters. */
export type Ranges = [number, number][]

const changedWords = new WeakMap<Line, Ranges>()
const mostEdits = 60

/** The words of a line that its twin has not; none where too little of both is the same. */
export function wordsOf(line: Line): Ranges {
  const known = changedWords.get(line)
  if (known || !line.twin) return known ?? []
  const removed = line.type === '-' ? line : line.twin
  const added = line.type === '-' ? line.twin : line
  const both: Record<'-' | '+', Ranges> = { '-': [], '+': [] }
  const changes = removed.text.length + added.text.length > 2 * longLine ? undefined
    : diffArrays(words(removed.text), words(added.text), { maxEditLength: mostEdits })
  let from = 0, to = 0, same = 0
  for (const change of changes ?? []) {
    const length = change.value.reduce((sum, word) => sum + word.length, 0)
    if (change.removed) both['-'].push([from, from + length])
    else if (change.added) both['+'].push([to, to + length])
    else same += change.value.join('').trim().length
    if (!change.added) from += length
    if (!change.removed) to += length
  }
  const enough = same * 4 >= Math.min(removed.text.trim().length, added.text.trim().length)
  changedWords.set(removed, enough ? both['-'] : [])
  changedWords.set(added, enough ? both['+'] : [])
  return changedWords.get(line)!
}

const words = (text: string) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []

/** The pieces of a line, cut where a change begins or ends. */
export function marked(line: Line): (Piece & { changed: boolean })[] {
  const pieces = coloured.get(line) ?? [{ text: line.text }]
  const ranges = wordsOf(line)
  const all: (Piece & { changed: boolean })[] = []
  let at = 0
  for (const piece of pieces) {
    const end = at + piece.text.length
    const cuts = [at, ...ranges.flat().filter((n) => n > at && n < end), end]
    for (let i = 0; i + 1 < cuts.length; i++) {
      const changed = ranges.some(([from, to]) => from <= cuts[i] && cuts[i] < to)
      all.push({ text: piece.text.slice(cuts[i] - at, cuts[i + 1] - at), kind: piece.kind, changed })
    }
    at = end
  }
  return all
}
