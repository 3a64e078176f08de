// Feeds snapshots of terminal/vt to @xterm/headless: an xterm.js that was fed
// the snapshot taken at a cut must show what an xterm.js shows that was fed the
// input up to the cut, and go on showing the same when both are fed the rest.
// Cases are cut at every byte, recordings at random ones.
//
//	npm ci && node receiver.mjs [prefix of a name]
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { newTerminal, write, screen } from './screen.mjs';
import { TESTDATA, scripts } from './script.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Takes the steps of a script from one cut to another. */
async function run({ term }, steps, from, to) {
  for (let i = from.step; i <= to.step && i < steps.length; i++) {
    const step = steps[i];
    if (i === to.step && to.offset === 0) return;
    if (step.op === 'resize') term.resize(step.cols, step.rows);
    if (step.op === 'feed') {
      const begin = i === from.step ? from.offset : 0;
      await write(term, step.bytes.subarray(begin, i === to.step ? to.offset : undefined));
    }
  }
}

/** The names of the fields in which two terminals differ. */
function compare(got, want, ignored) {
  const differing = [];
  const keys = new Set([...Object.keys(got), ...Object.keys(want)]);
  for (const key of keys) {
    if (key === 'answers' || key === 'bells' || ignored.has(key)) continue;
    if (JSON.stringify(got[key]) !== JSON.stringify(want[key])) {
      differing.push(`${key}\n  got  ${JSON.stringify(got[key])}\n  want ${JSON.stringify(want[key])}`);
    }
  }
  return differing;
}

/** For each script the fields that differences.txt or receiver.txt lets differ. */
function loadIgnored(...files) {
  const ignored = new Map();
  for (const file of files) {
    for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
      const found = /^\t([^\t:]+): (.*)$/.exec(line);
      if (!found) continue;
      const fields = ignored.get(found[1]) ?? new Set();
      for (const field of found[2].split(', ')) fields.add(field.replace(/^main .*/, 'main'));
      ignored.set(found[1], fields);
    }
  }
  return ignored;
}

async function check(steps, line, ignored) {
  const cut = { step: line.step, offset: line.offset };
  const end = { step: steps.length, offset: 0 };
  const fed = newTerminal(steps[0].cols, steps[0].rows);
  await run(fed, steps, { step: 0, offset: 0 }, cut);
  const brought = newTerminal(line.cols, line.rows);
  await write(brought.term, Buffer.from(line.snapshot, 'base64'));
  let found = compare(screen(brought), screen(fed), ignored).map((d) => `at the cut: ${d}`);
  if (brought.seen.answers || brought.seen.bells) found.push('the snapshot rings or asks');
  if (found.length === 0) {
    await run(fed, steps, cut, end);
    await run(brought, steps, cut, end);
    found = compare(screen(brought), screen(fed), ignored).map((d) => `after the rest: ${d}`);
  }
  fed.term.dispose();
  brought.term.dispose();
  return found;
}

const prefix = process.argv[2] ?? '';
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'vt-receiver-'));
const file = path.join(directory, 'snapshots');
let cuts = 0;
const failed = new Map();
try {
  execFileSync('go', ['test', './terminal/vt', '-count=1', '-run', '^TestWriteSnapshots$', '-args', '-snapshots', file],
    { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  const all = new Map([...scripts()].map(({ name, steps }) => [name, steps]));
  const ignored = loadIgnored(path.join(TESTDATA, 'differences.txt'), path.join(TESTDATA, 'receiver.txt'));
  for await (const text of readline.createInterface({ input: fs.createReadStream(file) })) {
    const line = JSON.parse(text);
    if (!line.name.startsWith(prefix) || failed.has(line.name)) continue;
    const found = await check(all.get(line.name), line, ignored.get(line.name) ?? new Set());
    cuts++;
    if (found.length > 0) failed.set(line.name, `step ${line.step}, byte ${line.offset}: ${found.join('\n')}`);
  }
} finally {
  fs.rmSync(directory, { recursive: true });
}
for (const [name, why] of failed) console.log(`${name}: ${why}`);
console.log(`${cuts} cuts, ${failed.size} scripts differ`);
process.exitCode = failed.size > 0 ? 1 : 0;
