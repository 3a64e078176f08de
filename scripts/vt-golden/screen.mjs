// The state of an @xterm/headless terminal in the form that the goldens of
// terminal/vt/testdata have. golden_test.go writes the Go engine's state in
// the same form.
import './unpooled.mjs';
import headless from '@xterm/headless';
import graphemes from '@xterm/addon-unicode-graphemes';

/** Rows of history that a golden keeps of each grid: the last ones. */
const HISTORY = 200;

/** A terminal with everything switched on that the goldens rely on. */
export function newTerminal(cols, rows) {
  const term = new headless.Terminal({
    cols, rows, scrollback: 100000, allowProposedApi: true, logLevel: 'off',
    windowOptions: { pushTitle: true, popTitle: true, getWinSizeChars: true },
  });
  term.loadAddon(new graphemes.UnicodeGraphemesAddon());
  if (term._core.unicodeService.wcwidth(0x1f600) !== 2) throw new Error('the tables of unicode-graphemes are broken');
  const seen = { answers: '', bells: 0, title: '' };
  term.onData((data) => { seen.answers += data; });
  term.onBell(() => { seen.bells++; });
  term.onTitleChange((title) => { seen.title = title; });
  return { term, seen };
}

/** Writes bytes and waits until the terminal has worked them off. */
export function write(term, bytes) {
  return new Promise((resolve) => term.write(bytes, resolve));
}

const UNDERLINE = ['', 'underline', 'double', 'curly', 'dotted', 'dashed'];
const HAS_EXTENDED = 0x10000000;
/** What SGR 59 leaves as the underline colour. */
const NO_COLOR = 0x3ffffff;

/** The style that SGR 4 set: isUnderline() and getUnderlineStyle() see that of a hyperlink too. */
function underline(cell) {
  if (!(cell.fg & 0x10000000)) return '';
  const style = cell.bg & HAS_EXTENDED ? cell.extended._ext >> 26 & 7 : 1;
  return UNDERLINE[style || 1] ?? `underline-${style}`;
}

function color(mode, value) {
  const index = value & 0xff;
  switch (mode >>> 24 & 3) {
    case 1: case 2: return String(index);
    case 3: return '#' + (value & 0xffffff).toString(16).padStart(6, '0');
  }
  return '';
}

/** What a cell looks like beside its text, as words; '' for a plain cell. */
function look(core, cell) {
  const words = [];
  const add = (on, word) => { if (on) words.push(word); };
  add(cell.isBold(), 'bold');
  add(cell.isDim(), 'dim');
  add(cell.isItalic(), 'italic');
  add(underline(cell), underline(cell));
  add(cell.isBlink(), 'blink');
  add(cell.isInverse(), 'inverse');
  add(cell.isInvisible(), 'conceal');
  add(cell.isStrikethrough(), 'strike');
  add(cell.isOverline(), 'overline');
  add(cell.isProtected(), 'protected');
  const fg = color(cell.fg, cell.fg);
  const bg = color(cell.bg, cell.bg);
  add(fg, 'fg=' + fg);
  add(bg, 'bg=' + bg);
  if (cell.bg & HAS_EXTENDED) {
    const under = cell.extended.underlineColor;
    const name = color(under, under);
    add(name && underline(cell) && under !== NO_COLOR, 'ul=' + name);
    if (cell.extended.urlId) {
      const link = core._oscLinkService.getLinkData(cell.extended.urlId);
      if (link) words.push(`link=${link.id ?? ''};${link.uri}`);
    }
  }
  return words.join(' ');
}

/**
 * A row as text. A cell of one code point and one column stands for itself, an
 * empty one is a blank; ⟦x⟧ is a cell of two columns, ⟨x⟩ one of one column with
 * several code points. Cells never written, at the end, are left out.
 */
function rowText(line, cols, cell) {
  // Rows of the alternate screen keep what a narrower screen does not show.
  let end = Math.min(line.getTrimmedLength(), cols);
  while (end > 0 && !line.hasContent(end - 1) && line.getWidth(end - 1) !== 0) end--;
  let text = '';
  for (let col = 0; col < end; col++) {
    line.loadCell(col, cell);
    const chars = cell.getChars();
    const width = cell.getWidth();
    if (width === 2) {
      text += `⟦${chars}⟧`;
      col++;
    } else if (width === 0) {
      text += `⟨${chars}⟩0`;
    } else if ([...chars].length > 1) {
      text += `⟨${chars}⟩`;
    } else {
      text += chars || ' ';
    }
  }
  return text;
}

/** Appends [row, first column, last column, look] for every run that is not plain. */
function rowLooks(core, line, cols, row, cell, out) {
  let from = 0;
  let last = '';
  for (let col = 0; col <= cols; col++) {
    let now = '';
    if (col < cols) {
      line.loadCell(col, cell);
      now = cell.getWidth() === 0 && col > 0 ? last : look(core, cell);
    }
    if (col === cols || now !== last) {
      if (last) out.push([row, from, col - 1, last]);
      from = col;
      last = now;
    }
  }
}

/** One grid: its last rows of history, then the screen. */
function grid(term, buffer) {
  const core = term._core;
  const cell = term.buffer.active.getNullCell();
  const history = buffer.ybase;
  const first = Math.max(0, history - HISTORY);
  const out = { history, cursor: [buffer.x, buffer.y], rows: [], wrapped: [], looks: [] };
  for (let i = first; i < history + term.rows; i++) {
    const line = buffer.lines.get(i);
    const row = i - history;
    out.rows.push(rowText(line, term.cols, cell));
    if (line.isWrapped) out.wrapped.push(row);
    rowLooks(core, line, term.cols, row, cell, out.looks);
  }
  return out;
}

const MOUSE = { NONE: '', X10: 'mouse=9', VT200: 'mouse=1000', DRAG: 'mouse=1002', ANY: 'mouse=1003' };
const ENCODING = { DEFAULT: '', SGR: 'mouse-encoding=1006', SGR_PIXELS: 'mouse-encoding=1016' };

/** The modes that are not as after a reset, as words in a fixed order. */
function modes(core) {
  const dec = core.coreService.decPrivateModes;
  const words = [];
  const add = (on, word) => { if (on) words.push(word); };
  add(core.coreService.modes.insertMode, 'insert');
  add(core.optionsService.rawOptions.convertEol, 'newline');
  add(dec.applicationCursorKeys, 'cursor-keys');
  add(dec.applicationKeypad, 'keypad');
  add(dec.origin, 'origin');
  add(!dec.wraparound, 'no-wrap');
  add(dec.reverseWraparound, 'reverse-wrap');
  add(core.coreService.isCursorHidden, 'hidden-cursor');
  add(dec.bracketedPasteMode, 'paste');
  add(dec.sendFocus, 'focus');
  add(dec.synchronizedOutput, 'synchronized');
  words.push(MOUSE[core.coreMouseService.activeProtocol], ENCODING[core.coreMouseService.activeEncoding]);
  if (dec.cursorStyle) words.push(`cursor=${dec.cursorStyle}${dec.cursorBlink ? '-blink' : ''}`);
  return words.filter(Boolean).join(' ');
}

/** Everything that a golden holds of one moment. */
export function screen({ term, seen }) {
  const core = term._core;
  const alternate = core.buffers.active === core.buffers.alt;
  const out = { size: `${term.cols}x${term.rows}`, ...grid(term, core.buffers.active) };
  const { scrollTop, scrollBottom } = core.buffers.active;
  if (scrollTop !== 0 || scrollBottom !== term.rows - 1) out.region = [scrollTop, scrollBottom];
  out.modes = modes(core);
  out.title = seen.title;
  out.answers = seen.answers;
  out.bells = seen.bells;
  if (alternate) out.main = grid(term, core.buffers.normal);
  for (const key of ['wrapped', 'looks', 'modes', 'title', 'answers', 'bells', 'history']) {
    if (!out[key] || out[key].length === 0) delete out[key];
    if (out.main && (!out.main[key] || out.main[key].length === 0)) delete out.main[key];
  }
  return out;
}

/** JSON with one row of the screen, or one run of a look, on a line. */
export function format(screens) {
  const one = (value) => JSON.stringify(value);
  const list = (values) => '[\n' + values.map(one).join(',\n') + ']';
  const object = (value) => '{' + Object.entries(value).map(([key, member]) => {
    if (key === 'rows' || key === 'looks') return `${one(key)}:${list(member)}`;
    return `${one(key)}:${key === 'main' ? object(member) : one(member)}`;
  }).join(',\n') + '}';
  return '[' + screens.map(object).join(',\n') + ']\n';
}
