import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, test } from 'vitest';
import { command } from '../src/command.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'doctor-'))));
afterEach(() => rmSync(folder, { recursive: true }));

function started(files: Readonly<Record<string, string>>, ...options: string[]) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const printed: string[] = [];
  const complained: string[] = [];
  const code = command([folder, ...options], {
    print: (text) => void printed.push(text),
    complain: (text) => void complained.push(text),
  });
  return { code, printed: printed.join('\n'), complained: complained.join('\n') };
}

const WRONG = `import { db } from './db.js';
export const save = () =>
  db.transaction(async (tx) => {
    await db.insert(users).values({});
  });
`;

it('prints file, line, problem, fix and the way to more, and exits with 1', () => {
  const { code, printed } = started({ 'save.ts': WRONG });
  expect(code).toBe(1);
  expect(printed).toMatch(
    /save\.ts:4:11 {2}no-pool-in-transaction\n {2}`db` runs this query .*\n {2}Fix: .*\n {2}\[npx @ambit\/doctor --explain no-pool-in-transaction\]\n/,
  );
  expect(printed).toContain('1 file read, 1 problem found.');
});

it('exits with 0 if there is nothing to report', () => {
  expect(started({ 'save.ts': WRONG.replace('db.insert', 'tx.insert') })).toEqual({
    code: 0,
    printed: '1 file read, 0 problems found.',
    complained: '',
  });
});

it('reads the comments of linters', () => {
  const disabled = WRONG.replace(
    '    await',
    '    // eslint-disable-next-line ambit/no-pool-in-transaction\n    await',
  );
  expect(started({ 'save.ts': disabled }).code).toBe(0);
  expect(started({ 'save.ts': disabled.replace('no-pool', 'no-parallel') }).code).toBe(1);
});

it('skips tests, build output and declarations, and --tests reads tests', () => {
  const files = { 'test/save.ts': WRONG, 'save.test.ts': WRONG, 'dist/save.js': WRONG, 'save.d.ts': WRONG };
  expect(started(files).printed).toBe('0 files read, 0 problems found.');
  expect(started({}, '--tests').printed).toContain('2 files read, 2 problems found.');
});

it('names files that do not parse or are nested too deeply, and reads the others', () => {
  const deep = `export default ${'['.repeat(20_000)}${']'.repeat(20_000)};`;
  const { printed, complained } = started({ 'broken.ts': 'class {{{', 'deep.js': deep, 'save.ts': WRONG });
  expect(complained).toMatch(/broken\.ts does not parse and was not read/);
  expect(complained).toMatch(/deep\.js does not parse and was not read/);
  expect(printed).toContain('1 file read, 1 problem found.');
});

it('explains a rule: its harm, and a program', () => {
  const { code, printed } = started({}, '--explain', 'no-pool-in-transaction');
  expect(code).toBe(0);
  expect(printed).toMatch(/^no-pool-in-transaction\n[^]*What users see[^]*```diff[^]*It reports/);
  expect(printed).not.toContain('## no-');
});

test.each([
  [['--explain', 'no-rule'], 'There is no rule no-rule. The rules:\n  no-'],
  [['--fix'], 'Unknown option --fix'],
  [['nothing'], 'There is no nothing'],
])('wrong usage %j is refused with exit code 2', (options, why) => {
  const { code, complained } = started({}, ...options);
  expect(code).toBe(2);
  expect(complained).toContain(why);
});

it('follows imports: a helper that uses the same pool, through re-exports, aliases and classes', () => {
  const files = {
    'src/db.ts': "import { Pool } from 'pg';\nexport const pool = new Pool();\n",
    'src/index.ts': "export * from './db.js';\nexport { record as note } from './record.js';\n",
    'src/record.ts':
      "import { pool } from '@/db';\nexport async function record() {\n  await pool.query('INSERT');\n}\n",
    'src/audit.ts':
      "import { pool } from './db.js';\nexport class Audit {\n  async add() {\n    await pool.query('INSERT');\n  }\n}\n",
    'src/place.ts': `import { note, pool } from './index.js';
import { other } from './other.js';
import type { Audit } from './audit.js';
export class Orders {
  constructor(private readonly audit: Audit) {}
  async place() {
    const client = await pool.connect();
    await client.query('BEGIN');
    await note();
    await this.audit.add();
    await other();
    await note(client);
    await client.query('COMMIT');
  }
}
`,
    'src/other.ts':
      "import { Pool } from 'pg';\nconst pool = new Pool();\nexport const other = async () => pool.query('SELECT');\n",
  };
  const { reports } = JSON.parse(started(files, '--json').printed) as { reports: { file: string; line: number }[] };
  expect(reports.map(({ file, line }) => `${file.split('/').at(-1)}:${line}`)).toEqual(['place.ts:9', 'place.ts:10']);
});
