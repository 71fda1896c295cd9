import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
/** Between parts of our own packages: their messages may change in any release. */
const INTERNAL = ['ambit:inspector:line', 'ambit:transaction:context', 'ambit:transaction:unchecked'];

type Messages = Readonly<Record<string, string>>;

/** The channels that are made in these folders, each with the message that its comment describes. */
function channelsIn(folders: string): Messages {
  const tracked = execFileSync('git', ['ls-files', '-z', `:(glob)${folders}/**`], {
    cwd: root,
    encoding: 'utf8',
  }).split('\0');
  const files = tracked.filter((path) => path.endsWith('.ts') && existsSync(join(root, path)));
  const found = files.flatMap((file) =>
    Array.from(
      readFileSync(join(root, file), 'utf8').matchAll(
        /(?:^\/\*\*\s+(?:\* )?`(\{.*?\})`(?:(?!\*\/)[^])*\*\/\n)?^.*\bchannel\('(ambit:[\w:]+)'\)/gm,
      ),
      ([, message = '', channel = '']) => [channel, message] as const,
    ),
  );
  const documented = found.filter(([channel]) => !INTERNAL.includes(channel));
  return Object.fromEntries(documented.toSorted(([a], [b]) => a.localeCompare(b)));
}

/** The rows of the table of channels: `| `ambit:a:b` | `{ message }` ... |`. */
function rowsOf(page: string): Messages {
  const rows = readFileSync(join(root, page), 'utf8').matchAll(/^\| `(ambit:[\w:]+)` +\| (?:`(\{.*?\})`)?/gm);
  const found = Array.from(rows, ([, channel = '', message = '']) => [channel, message] as const);
  return Object.fromEntries(found.toSorted(([a], [b]) => a.localeCompare(b)));
}

it.each([
  ['docs/guides/observability.md', 'packages/*/src'],
  ['packages/transaction/README.md', 'packages/transaction/src'],
])('%s has every channel of the source, with its message', (page, folders) => {
  expect(rowsOf(page)).toEqual(channelsIn(folders));
});
