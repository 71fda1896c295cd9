import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasPostgres, openSchema } from '@ambit/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deadlocks, doubled, effects, harmless, loops, scans } from './support/faults.js';

const AMBIT = join(import.meta.dirname, '../../packages/container/dist/main.js');
const SUPPORT = join(import.meta.dirname, 'support');
const SHOP = readFileSync(join(SUPPORT, 'shop.mjs'), 'utf8');
/** The whole proof has 50 faults and 100 runs: the step `check-faults`. */
const RUNS = Number(process.env['RUNS'] ?? 3);
const FAULTS_OF_A_KIND = Number(process.env['FAULTS_OF_A_KIND'] ?? 3);
const KINDS: Readonly<Record<string, readonly [edits: readonly (readonly string[])[], said: RegExp]>> = {
  'N+1': [loops, /statements \d+ -> \d+ .*N\+1: .* x \d+/],
  'deadlock order': [deadlocks, /locks (\w+), then (\w+); .* locks \2, then \1.*: may deadlock/],
  effect: [effects, / in the open transaction|outside of the open transaction|second connection/],
  'plan without an index': [scans, /plan without an index: reads all of \w+/],
  'statements doubled': [doubled, /statements \d+ -> \d+ .* x 2 \(was 1\)/],
};

// Each fault is a run of a suite, however long that takes.
describe.skipIf(!hasPostgres)('ambit check', { timeout: 3_600_000 }, () => {
  let folder: string;
  let schema: Awaited<ReturnType<typeof openSchema>>;
  beforeAll(async () => {
    // Git ignores it, and packages are found from there.
    mkdirSync(join(import.meta.dirname, 'dist'), { recursive: true });
    folder = mkdtempSync(join(import.meta.dirname, 'dist', 'shop-'));
    schema = await openSchema();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await schema.drop();
  });

  const git = (...args: string[]) => spawnSync('git', args, { cwd: folder, encoding: 'utf8' });

  /** Runs the suite of a changed shop, and compares it where a base is named. */
  async function checked(source: string, ...args: string[]) {
    writeFileSync(join(folder, 'shop.mjs'), source);
    const command = ['check', '--plans', ...args, '--', process.execPath, 'shop.mjs'];
    return new Promise<{ code: number; said: string[] }>((resolve) => {
      const child = execFile(process.execPath, [AMBIT, ...command], { cwd: folder }, (_error, stdout, stderr) =>
        resolve({ code: child.exitCode ?? 1, said: (stdout + stderr).trimEnd().split('\n') }),
      );
    });
  }

  const edited = (edits: readonly string[]): string => {
    let source = SHOP;
    for (let i = 0; i < edits.length; i += 2) {
      expect(source.split(edits[i]!)).toHaveLength(2);
      source = source.replace(edits[i]!, () => edits[i + 1]!);
    }
    return source;
  };

  it('names each seeded fault with its line, and nothing else', async () => {
    process.env['DATABASE_URL'] = schema.url();
    git('init', '--quiet', '--initial-branch', 'main');
    expect(await checked(SHOP)).toMatchObject({ code: 0 });
    git('add', '.');
    git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '--quiet', '--message', 'The shop');
    const [missed, wrong]: [string[], string[]] = [[], []];
    let [seeded, found, reported] = [0, 0, 0];
    for (const [kind, [edits, said]] of Object.entries({ ...KINDS, harmless: [harmless, /^$/] as const }))
      for (const edit of edits.slice(0, FAULTS_OF_A_KIND)) {
        if (kind !== 'harmless') seeded += 1;
        const source = edited(edit);
        const line = source.split('\n').findIndex((text) => text.endsWith('// HERE')) + 1;
        const { code, said: lines } = await checked(source, '--base', 'main');
        const changes = lines.slice(1).filter((text) => !text.includes('note: '));
        const isNamed = changes.some((text) => said.test(text) && text.endsWith(`shop.mjs:${line}`));
        if (kind !== 'harmless' && isNamed && code === 1) found += 1;
        else if (kind !== 'harmless' || code !== 0) missed.push(`${kind}: ${edit.join(' => ')}\n${lines.join('\n')}`);
        reported += changes.length;
        wrong.push(...changes.filter((text) => !said.test(text)).map((text) => `${kind}: ${text}`));
      }
    console.log(
      `${found} of ${seeded} found, ${wrong.length} of ${reported} false\n${missed.join('\n')}\n${wrong.join('\n')}`,
    );
    expect(found / seeded).toBeGreaterThanOrEqual(0.96);
    expect(wrong.length / reported).toBeLessThanOrEqual(0.05);
  });

  it.each(['PostgreSQL', 'SQLite'])('records the same bytes in each run on %s', async (database) => {
    if (database === 'SQLite') delete process.env['DATABASE_URL'];
    else process.env['DATABASE_URL'] = schema.url();
    const records = new Set<string>();
    for (let run = 0; run < RUNS; run++) {
      await checked(SHOP);
      records.add(readFileSync(join(folder, 'transactions.json'), 'utf8'));
    }
    expect(records.size).toBe(1);
  });
});
