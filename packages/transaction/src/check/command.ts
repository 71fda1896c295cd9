import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { changesBetween, type Format, printed } from './compare.js';
import { type Lines, type Recorded, recordOf, type TransactionRecord } from './record.js';

/** The output of the command: results, and why there are none. */
interface Terminal {
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

const FILE = 'transactions.json';
const HELP = `ambit check [--base REF] [options] [-- COMMAND...]

Runs a test suite, and records the statements, effects and locks of each route in a file, to commit. With --base, compares it with that of a branch.

  -- COMMAND        the test suite, such as: -- npm test; without it, the file is read as it is, and no line is known
  --base REF        the branch of which this is a pull request: main
  --file FILE       the record; by default ${FILE}
  --plans           also records which tables a statement reads as a whole (PostgreSQL, SQLite)
  --markdown        prints a table
  --github          also prints annotations
  --report-only     exits with 0 although there are changes for the worse`;

/** The user can correct it. */
class UsageError extends Error {}

/** The exit code is 0, 1 for changes for the worse, 2 where nothing could be compared, or that of the suite where it fails. */
export async function command(args: readonly string[], output: Terminal): Promise<number> {
  try {
    return await run(args, output);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    output.complain(error.message);
    return 2;
  }
}

async function run(args: readonly string[], { print, complain }: Terminal): Promise<number> {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const { base, file = FILE, help, markdown, github, plans = false, ...flags } = optionsIn(args.slice(0, end));
  const suite = args.slice(end + 1);
  if (help || (base === undefined && suite.length === 0)) {
    print(HELP);
    return help ? 0 : 2;
  }
  let lines: Lines = {};
  if (suite.length > 0) {
    const recorded = await recordedBy(suite, plans);
    if (typeof recorded === 'number') {
      complain(`The suite has failed, so that nothing was recorded: ${suite.join(' ')}`);
      return recorded;
    }
    ({ lines } = recorded);
    await writeFile(file, `${JSON.stringify(recorded.record, undefined, 2)}\n`);
  }
  const head = parsed(await readFile(file, 'utf8').catch(() => undefined), file);
  const routes = Object.keys(head.routes).length;
  if (base === undefined) {
    print(`${file} has ${routes} ${routes === 1 ? 'route' : 'routes'}. Commit it.`);
    return 0;
  }
  const before = await committed(base, file);
  if (!before) {
    print(`${base} has no ${file} yet: there is nothing to compare with`);
    return 0;
  }
  const changes = changesBetween(parsed(before, `${base}:${file}`), head, lines);
  const format: Format = markdown ? 'markdown' : github ? 'github' : 'text';
  const count = changes.length === 0 ? 'no change' : changes.length === 1 ? '1 change' : `${changes.length} changes`;
  print(printed(changes, `ambit check --base ${base}: ${count} in ${routes} routes`, format));
  return flags['report-only'] || changes.every(({ isNote }) => isNote) ? 0 : 1;
}

function optionsIn(args: readonly string[]) {
  const flag = { type: 'boolean' } as const;
  const text = { type: 'string' } as const;
  try {
    const options = {
      base: text,
      file: text,
      plans: flag,
      markdown: flag,
      github: flag,
      'report-only': flag,
      help: flag,
    };
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${HELP}`);
  }
}

/** The records of the processes of the suite; its exit code where it fails. */
async function recordedBy([program = '', ...args]: readonly string[], plans: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'ambit-check-'));
  try {
    const env = { ...process.env, RECORD_TRANSACTIONS_TO: folder, RECORD_TRANSACTION_PLANS: plans ? '1' : '' };
    // npm is a batch file on Windows.
    const suite = spawn(program, args, { stdio: 'inherit', env, shell: process.platform === 'win32' });
    const [code] = (await once(suite, 'close').catch((error: unknown) => {
      throw new UsageError(`The suite could not be started: ${String(error)}`);
    })) as [number | null];
    if (code !== 0) return code ?? 1;
    const recorded: Recorded[] = [];
    for (const name of await readdir(folder)) {
      const text = await readFile(join(folder, name), 'utf8');
      for (const line of text.split('\n')) if (line !== '') recorded.push(JSON.parse(line) as Recorded);
    }
    if (recorded.length > 0) return recordOf(recorded, plans);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  throw new UsageError(
    'The suite ran no statement of a request on a checked pool. Put transactionCheck().pool() around the pool of the application: docs/guides/transaction-check.md',
  );
}

function parsed(text: string | undefined, file: string): TransactionRecord {
  try {
    const record = JSON.parse(text ?? '') as TransactionRecord;
    if (record.version === 1) return record;
  } catch {
    // Said below.
  }
  throw new UsageError(`${file} is no record of this version. Write it: ambit check -- npm test`);
}

async function committed(base: string, file: string): Promise<string | undefined> {
  const git = promisify(execFile);
  await git('git', ['rev-parse', '--verify', '--quiet', `${base}^{commit}`]).catch(() => {
    throw new UsageError(
      `git knows no ${base}. Fetch it: git fetch origin ${base}; in a workflow, actions/checkout with fetch-depth: 0`,
    );
  });
  const path = file.startsWith('/') ? file : `./${file}`;
  const shown = await git('git', ['show', `${base}:${path}`], { maxBuffer: 2 ** 28 }).catch(() => undefined);
  return shown?.stdout;
}
