// Runs the contracts of hosts and pools on runtimes, and compares what each passes with its row in docs/guides/workers.md:
//   node test/runtimes/table.mjs                    all of them
//   node test/runtimes/table.mjs 'Node 24' workerd   these
//   node test/runtimes/table.mjs --write Bun         writes the row instead
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/guides/workers.md');
const POOLS = 'packages/transaction/test/pool.contract';
const ON_NODE = `test/hosts/fetch.isolated test/hosts/hono.isolated ${POOLS}`;
/** The package and the crowd of clients are no row, and have to pass as well. */
const ON_FETCH = `${ON_NODE} packages/fetch/test test/hosts/crowd`;
const OF_A_ROW = /(fetch|hono)\.isolated|contract/;

/** @type {Record<string, { on?: string, tests: string }>} */
const RUNTIMES = {
  'Node 22': { on: '22', tests: ON_NODE },
  'Node 24': { on: '24', tests: ON_NODE },
  'Node 26': { on: '26', tests: ON_NODE },
  Bun: { on: 'bun', tests: ON_FETCH },
  Deno: { on: 'deno', tests: ON_FETCH },
  workerd: { tests: 'test/runtimes' },
};

const { values: flags, positionals } = parseArgs({ allowPositionals: true, options: { write: { type: 'boolean' } } });
const unknown = positionals.filter((name) => !(name in RUNTIMES));
if (unknown.length > 0)
  throw new Error(`No runtime ${unknown.join(', ')}. There are: ${Object.keys(RUNTIMES).join(', ')}.`);
const scratch = mkdtempSync(join(tmpdir(), 'ambit-runtimes-'));
try {
  for (const name of positionals.length > 0 ? positionals : Object.keys(RUNTIMES)) compare(name);
} finally {
  rmSync(scratch, { recursive: true });
}

/** @param {string} name */
function compare(name) {
  const [hosts, pools] = cellsOf(name);
  const text = readFileSync(page, 'utf8');
  const [known = ''] = new RegExp(`^\\| ${name} .*\\|$`, 'm').exec(text) ?? [];
  const row = `| ${name} | ${hosts} | ${pools} |`;
  if (flags.write)
    writeFileSync(
      page,
      text.replace(known, () => row),
    );
  else if (known.replaceAll(/ +/g, ' ') !== row) {
    console.error(`docs/guides/workers.md has\n${known}\nand it is\n${row}`);
    process.exitCode = 1;
  }
}

/** @param {string} name */
function cellsOf(name) {
  const { on, tests } = RUNTIMES[name] ?? { tests: '' };
  const file = join(scratch, `${name}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${file}`];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...tests.split(' ')];
  const program = on ? ['tools/on-node.mjs', on, ...vitest] : vitest;
  const { status } = spawnSync(process.execPath, program, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
  /** @type {{ testResults: { name: string, assertionResults: { status: string, fullName: string }[] }[] }} */
  const { testResults } = JSON.parse(readFileSync(file, 'utf8'));
  const all = testResults.filter((of) => OF_A_ROW.test(of.name)).flatMap((of) => of.assertionResults);
  const pools = all.filter(({ fullName }) => fullName.includes('a pool over'));
  return [cellOf(all.filter((test) => !pools.includes(test))), cellOf(pools)];
}

/** @param {{ status: string }[]} tests */
function cellOf(tests) {
  if (tests.length === 0) return 'none';
  const count = (/** @type {string} */ status) => tests.filter((test) => test.status === status).length;
  const refused = count('skipped') > 0 ? `all but ${count('skipped')}` : 'all';
  const left = tests.length - count('passed') - count('skipped');
  return left > 0 ? `${refused}, **${left} failed**` : refused;
}
