// Searches for inputs that break what must hold for all of them:
//   npm run fuzz                                  all targets, 20 s together; keeps in fuzz/corpus what reaches something new
//   npm run fuzz -- sql json --seconds 3600       these, for an hour together
//   npm run fuzz -- sql --replay '"select 1"'     one input, written as in the corpus
// --seed repeats a search, --read-only keeps nothing, --from-one begins with one ordinary input, --first ends with the first finding.
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toLine } from './corpus.js';
import type { Message, Order, Progress, ShownFinding } from './one-target.js';
import { TARGETS } from './targets.js';

/** Without a word from its process: an input keeps it busy, or it waits for what never happens. */
const SILENT_MS = 20_000;
const MINUTE_MS = 60_000;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    replay: { type: 'string' },
    'read-only': { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
    'from-one': { type: 'boolean', default: false },
  },
});
const unknown = positionals.filter((name) => !(name in TARGETS));
if (unknown.length > 0) {
  console.error(`No target named ${unknown.join(', ')}. The targets: ${Object.keys(TARGETS).join(', ')}.`);
  process.exit(2);
}
const chosen = positionals.length > 0 ? positionals : Object.keys(TARGETS);
const folder = mkdtempSync(join(tmpdir(), 'ambit-fuzz-'));
let found = 0;
let isInterrupted = false;
process.on('SIGINT', () => (isInterrupted = true));
try {
  if (flags.replay === undefined) console.log(`seed ${flags.seed}`);
  for (const target of chosen) {
    if (isInterrupted) break;
    const findings = await run({
      target,
      ms: (Number(flags.seconds) * 1000) / chosen.length,
      seed: Number(flags.seed),
      note: join(folder, target),
      keeps: !flags['read-only'] && !flags['from-one'],
      fromOne: flags['from-one'],
      first: flags.first,
      replay: flags.replay,
    });
    found += findings;
  }
} finally {
  rmSync(folder, { recursive: true });
}
if (flags.replay !== undefined && found === 0) console.log('All that must hold holds for this input.');
process.exitCode = found > 0 ? 1 : 0;

/** Returns how many findings there were. */
function run(order: Order): Promise<number> {
  const env = { ...process.env, FUZZ_SOURCES: TARGETS[order.target] };
  const program = fork(fileURLToPath(new URL('one-target.ts', import.meta.url)), [JSON.stringify(order)], { env });
  let findings = 0;
  const show = (finding: ShownFinding): void => {
    if (finding.isSure) findings += 1;
    print(order.target, finding);
  };
  let last: Progress | undefined;
  let isOver = false;
  let isSilent = false;
  let saidAt = performance.now();
  const silence = (): NodeJS.Timeout =>
    setTimeout(
      () => {
        isSilent = true;
        program.kill('SIGKILL');
      },
      SILENT_MS + (last ? 0 : MINUTE_MS),
    );
  let timer = silence();
  program.on('message', (message: Message) => {
    clearTimeout(timer);
    timer = silence();
    if ('finding' in message) {
      show(message.finding);
      return;
    }
    last = message.progress;
    isOver = message.isOver;
    const isDue = performance.now() - saidAt > MINUTE_MS;
    if (!isOver && !isDue) return;
    if (order.replay === undefined) console.log(summary(order.target, last, findings));
    saidAt = performance.now();
  });
  return new Promise((done, fail) => {
    program.on('close', (code, signal) => {
      clearTimeout(timer);
      const how = isSilent ? `did nothing for ${SILENT_MS / 1000} s` : `ended with ${signal ?? `code ${code}`}`;
      if (!existsSync(order.note)) {
        fail(new Error(`The process of the target ${order.target} ${how} before its first input`));
        return;
      }
      if (!isOver || code !== 0)
        show({
          line: toLine(noted(order.note)),
          text: `The process of the target ${how} at this input.`,
          isSure: true,
        });
      done(findings);
    });
  });
}

function noted(file: string): Buffer {
  const bytes = readFileSync(file);
  return bytes.length < 4 ? bytes : bytes.subarray(4, 4 + bytes.readUInt32LE());
}

function summary(target: string, progress: Progress, findings: number): string {
  const { executions, seconds, reached, all, corpus, new: added } = progress;
  const number = (value: number): string => Math.round(value).toLocaleString('en');
  const share = ((100 * reached) / Math.max(1, all)).toFixed(1);
  return (
    `${target.padEnd(8)} ${number(executions)} executions in ${number(seconds)} s, ${number(executions / seconds)} a second; ` +
    `reached ${number(reached)} of ${number(all)} (${share} %); corpus ${corpus}, ${added} new; ${findings} found`
  );
}

function print(target: string, { line, text, isSure }: ShownFinding): void {
  const what = isSure ? 'FOUND' : 'seen once';
  console.log(`\n${what} by ${target}: ${line}\n${text}\n  npm run fuzz -- ${target} --replay ${quoted(line)}\n`);
}

/** For a shell of Linux. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
