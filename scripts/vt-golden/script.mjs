// Reads the two kinds of script in terminal/vt/testdata: cases/*/*.case and
// recordings/*.rec.gz (their form: testdata/README.md).
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { fileURLToPath } from 'node:url';

export const TESTDATA = fileURLToPath(new URL('../../terminal/vt/testdata/', import.meta.url));

const SIMPLE = { n: 10, r: 13, t: 9, b: 8, a: 7, f: 12, v: 11, '\\': 92, '"': 34 };

/** The bytes of a string literal in Go's syntax. */
export function unquote(literal) {
  const parts = [];
  const body = literal.slice(1, -1);
  const escape = /\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[0-7]{3}|.)/g;
  let from = 0;
  for (const found of body.matchAll(escape)) {
    parts.push(Buffer.from(body.slice(from, found.index)));
    from = found.index + found[0].length;
    const code = found[1];
    if (code[0] === 'x') parts.push(Buffer.from([parseInt(code.slice(1), 16)]));
    else if (code.length > 3 && /[uU]/.test(code[0])) parts.push(Buffer.from(String.fromCodePoint(parseInt(code.slice(1), 16))));
    else if (code.length === 3) parts.push(Buffer.from([parseInt(code, 8)]));
    else if (code in SIMPLE) parts.push(Buffer.from([SIMPLE[code]]));
    else throw new Error(`unknown escape \\${code} in ${literal}`);
  }
  parts.push(Buffer.from(body.slice(from)));
  return Buffer.concat(parts);
}

function size(text) {
  const [cols, rows] = text.split('x').map(Number);
  if (!(cols > 0 && rows > 0)) throw new Error(`bad size ${text}`);
  return { cols, rows };
}

/** A case as a list of steps: {op: 'size'|'resize', cols, rows}, {op: 'feed', bytes}, {op: 'check'}. */
export function parseCase(text) {
  const steps = [];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, op, rest] = /^(\w+) ?(.*)$/.exec(line) ?? [];
    if (op === 'size' || op === 'resize') {
      steps.push({ op, ...size(rest) });
    } else if (op === 'feed') {
      steps.push({ op, bytes: unquote(rest) });
    } else if (op === 'repeat') {
      const [, count, literal] = /^(\d+) (".*")$/.exec(rest);
      const bytes = unquote(literal);
      steps.push({ op: 'feed', bytes: Buffer.concat(Array(Number(count)).fill(bytes)) });
    } else if (op === 'count') {
      const [, from, to, literal] = /^(\d+) (\d+) (".*")$/.exec(rest);
      const text = unquote(literal).toString('latin1');
      const parts = [];
      for (let i = Number(from); i <= Number(to); i++) parts.push(Buffer.from(text.replaceAll('%d', i), 'latin1'));
      steps.push({ op: 'feed', bytes: Buffer.concat(parts) });
    } else if (op === 'check') {
      steps.push({ op });
    } else {
      throw new Error(`unknown step ${line}`);
    }
  }
  return steps;
}

/** A recording (already decompressed) as the same list of steps. */
export function parseRecording(bytes) {
  const steps = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf(10, at);
    const [op, rest] = bytes.toString('latin1', at, end).split(' ');
    at = end + 1;
    if (op === 'size' || op === 'resize') {
      steps.push({ op, ...size(rest) });
    } else if (op === 'data') {
      steps.push({ op: 'feed', bytes: bytes.subarray(at, at + Number(rest)) });
      at += Number(rest);
    } else if (op === 'check') {
      steps.push({ op });
    } else {
      throw new Error(`unknown mark ${op} at byte ${at}`);
    }
  }
  return steps;
}

/** Every script as {name, steps}; name is the path below testdata without its ending. */
export function* scripts() {
  const cases = path.join(TESTDATA, 'cases');
  for (const family of fs.readdirSync(cases).sort()) {
    for (const file of fs.readdirSync(path.join(cases, family)).sort()) {
      const steps = parseCase(fs.readFileSync(path.join(cases, family, file), 'utf8'));
      yield { name: `cases/${family}/${path.basename(file, '.case')}`, steps };
    }
  }
  const recordings = path.join(TESTDATA, 'recordings');
  if (!fs.existsSync(recordings)) return;
  for (const file of fs.readdirSync(recordings).sort()) {
    if (!file.endsWith('.rec.gz')) continue;
    const bytes = zlib.gunzipSync(fs.readFileSync(path.join(recordings, file)));
    yield { name: `recordings/${path.basename(file, '.rec.gz')}`, steps: parseRecording(bytes) };
  }
}
