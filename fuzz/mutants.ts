// Tries the search on mistakes that are made on purpose, one after another: each must be found.
//   node --import ./fuzz/register.mjs fuzz/mutants.ts
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

interface Mutant {
  readonly what: string;
  readonly target: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Without corpus and seeds, where one of them would show it at once. */
  readonly fromOne?: true;
}

const LEXER = 'packages/transaction/src/sql/lexer.ts';
const REQUEST = 'service/src/http/request.ts';

const MUTANTS: readonly Mutant[] = [
  {
    what: 'a body may be nested one level deeper',
    target: 'json',
    file: REQUEST,
    from: 'const MAX_DEPTH = 32;',
    to: 'const MAX_DEPTH = 33;',
    fromOne: true,
  },
  {
    what: 'a backslash in a body escapes nothing',
    target: 'json',
    file: REQUEST,
    from: 'bytes[at] === BACKSLASH ? 2 : 1',
    to: '1',
    fromOne: true,
  },
  {
    what: 'comments do not nest',
    target: 'sql',
    file: LEXER,
    from: '  nestedComments: true,',
    to: '  nestedComments: false,',
    fromOne: true,
  },
  {
    what: String.raw`E'\'' is not closed`,
    target: 'sql',
    file: LEXER,
    from: String.raw`/\\[^]|''?/g`,
    to: "/''?/g",
  },
  {
    what: 'Node is lenient: a header may have two lines',
    target: 'heads',
    file: 'service/src/http/server.ts',
    from: 'SERVER_OPTIONS = {',
    to: 'SERVER_OPTIONS = { insecureHTTPParser: true,',
  },
  {
    what: 'a page begins with the user that it follows',
    target: 'queries',
    file: 'service/src/users/users.ts',
    from: 'WHERE id > $1 ORDER',
    to: 'WHERE id >= $1 ORDER',
  },
  {
    what: 'an Idempotency-Key may be longer by one',
    target: 'headers',
    file: 'packages/idempotency/src/key.ts',
    from: 'const MOST_CHARACTERS = 255;',
    to: 'const MOST_CHARACTERS = 256;',
    fromOne: true,
  },
  {
    what: 'a message of the configuration has a password',
    target: 'config',
    file: 'service/src/config/config.ts',
    from: '`${variable} must be a URL like',
    to: '`${text} must be a URL like',
    fromOne: true,
  },
];

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const REGISTER = new URL('register.mjs', import.meta.url).href;

let missed = 0;
for (const { what, target, fromOne, ...mutant } of MUTANTS) {
  const how = ['--read-only', '--first', '--seed', '1', '--seconds', '120', ...(fromOne ? ['--from-one'] : [])];
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', REGISTER, MAIN, target, ...how], {
    env: { ...process.env, FUZZ_MUTANT: JSON.stringify(mutant) },
    encoding: 'utf8',
  });
  const found = /^FOUND by \w+: (.*)$/m.exec(stdout)?.[1];
  const effort = /([\d,]+ executions in [\d,]+ s)/.exec(stdout)?.[1] ?? '';
  if (status !== 1 || found === undefined) missed += 1;
  console.log(
    found === undefined ? `MISSED  ${what}\n${stdout}${stderr}` : `found   ${what}: ${effort}: ${found.slice(0, 80)}`,
  );
}
process.exitCode = missed > 0 ? 1 : 0;
