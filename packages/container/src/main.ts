#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { explainCode } from './explain-code.js';

/** The output of a command: results, and why there are none. */
interface Terminal {
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}
type Command = (args: readonly string[], terminal: Terminal) => number | Promise<number>;

/** The commands of `ambit`. Each but `explain` is the `command` that its package exports at `/command`. */
const COMMANDS: Readonly<Record<string, { readonly does: string; readonly from?: string }>> = {
  explain: { does: 'what an error means, and how to fix it: ambit explain AMBIT_TX_FAILED' },
  inspect: { does: 'what is wrong in a running application', from: '@ambit/inspector' },
  doctor: { does: 'finds wrong transactions in source files', from: '@ambit/doctor' },
  check: { does: 'compares the transactions of each route with a branch', from: '@ambit/transaction' },
  replay: { does: 'sends a recorded request again', from: '@ambit/replay' },
};
const MISUSED = 2;

// The reader of the output may want no more of it, as `head` does.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));
const terminal: Terminal = {
  print: (text) => void process.stdout.write(`${text}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
};
const [name = '', ...args] = process.argv.slice(2);
const code = await run(name);
// An application that was loaded for a replay may have timers of its own.
process.stdout.write('', () => process.exit(code));

async function run(asked: string): Promise<number> {
  const row = Object.hasOwn(COMMANDS, asked) ? COMMANDS[asked] : undefined;
  if (!row) {
    const lines = Object.entries(COMMANDS).map(
      ([each, { does, from = '' }]) => `  ${each.padEnd(8)} ${from.padEnd(17)} ${does}`,
    );
    const isWanted = asked === '--help' || asked === '-h';
    terminal[isWanted ? 'print' : 'complain'](['Usage: ambit <command> [--help]', '', ...lines].join('\n'));
    return isWanted ? 0 : MISUSED;
  }
  if (row.from === undefined) return explainCode(args, { ...terminal, page: errorsPage });
  const command = await commandOf(row.from);
  if (command) return command(args, terminal);
  terminal.complain(`ambit ${asked} is a command of ${row.from}: npm install --save-dev ${row.from}`);
  return MISUSED;
}

/** Found from the project first: with pnpm and Yarn this package cannot import what the project has installed. */
async function commandOf(from: string): Promise<Command | undefined> {
  let file: string;
  try {
    file = createRequire(import.meta.url).resolve(`${from}/command`, { paths: [process.cwd(), import.meta.dirname] });
  } catch {
    return undefined;
  }
  return ((await import(pathToFileURL(file).href)) as { readonly command: Command }).command;
}

/** The page is packed beside this program; in the repository it is where it is written. */
function errorsPage(): string {
  try {
    return readFileSync(new URL('errors.md', import.meta.url), 'utf8');
  } catch {
    return readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  }
}
