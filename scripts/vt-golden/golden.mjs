// Writes terminal/vt/testdata/golden: what @xterm/headless with the
// unicode-graphemes addon shows after each case and recording, at every check
// and at the end. Run by hand after a case was added or the version was raised:
//
//	npm ci && node golden.mjs [prefix of a name]
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { newTerminal, write, screen, format } from './screen.mjs';
import { TESTDATA, scripts } from './script.mjs';

async function run(steps) {
  const screens = [];
  let terminal;
  for (const step of steps) {
    if (step.op === 'size') terminal = newTerminal(step.cols, step.rows);
    else if (step.op === 'resize') terminal.term.resize(step.cols, step.rows);
    else if (step.op === 'feed') await write(terminal.term, step.bytes);
    else screens.push(screen(terminal));
  }
  if (steps.at(-1).op !== 'check') screens.push(screen(terminal));
  terminal.term.dispose();
  return screens;
}

const prefix = process.argv[2] ?? '';
let count = 0;
for (const { name, steps } of scripts()) {
  if (!name.startsWith(prefix)) continue;
  const text = format(await run(steps));
  const file = path.join(TESTDATA, 'golden', name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  if (name.startsWith('recordings/')) fs.writeFileSync(`${file}.json.gz`, zlib.gzipSync(text, { level: 9 }));
  else fs.writeFileSync(`${file}.json`, text);
  count++;
}
console.log(`${count} goldens written`);
