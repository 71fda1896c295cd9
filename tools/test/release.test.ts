import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const MINUTES_5 = 300_000;
const COMMIT = {
  GITHUB_SERVER_URL: 'https://example.org',
  GITHUB_REPOSITORY: 'a/b',
  GITHUB_SHA: '0123456789abcdef0123456789abcdef01234567',
};

/** What a registry has already: an older version of one package, and the version of this repository of another. */
const PUBLISHED: Record<string, string[]> = { '@ambit/container': ['0.0.9'], '@ambit/http': ['0.1.0'] };
const requests: string[] = [];
const registry = createServer((req, res) => {
  requests.push(`${req.method} ${req.url}`);
  const name = decodeURIComponent(req.url ?? '').slice(1);
  const versions = PUBLISHED[name] ?? [];
  if (versions.length === 0) res.statusCode = 404;
  const each = Object.fromEntries(versions.map((version) => [version, { name, version }]));
  res.end(JSON.stringify({ name, versions: each, 'dist-tags': { latest: versions.at(-1) } }));
});
let scratch = '';

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'ambit-release-test-'));
  await once(registry.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  registry.close();
  rmSync(scratch, { recursive: true });
});

async function release(args: string[], env: Record<string, string> = {}): Promise<string> {
  const { port } = registry.address() as AddressInfo;
  const settings = { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: join(scratch, 'cache') };
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/release.mjs', ...args], {
    cwd: ROOT,
    env: { ...process.env, ...settings, ...env },
  });
  return stdout;
}

/** What a release would change here, if it were none. */
const changedFiles = () =>
  execFileSync('git', ['status', '--porcelain', 'packages', '.changeset', 'package-lock.json'], {
    cwd: ROOT,
    encoding: 'utf8',
  });

function publicPackages(): string[] {
  return readdirSync(join(ROOT, 'packages'))
    .map((folder) => JSON.parse(readFileSync(join(ROOT, 'packages', folder, 'package.json'), 'utf8')))
    .map(({ name }) => String(name));
}

it(
  'prints and packs what npm does not have, in the order of dependencies, and changes nothing else',
  async () => {
    const before = changedFiles();
    const folder = join(scratch, 'tarballs');
    const output = await release(['--pack', folder], COMMIT);
    const order = Array.from(output.matchAll(/^([@a-z]\S+) 0\.1\.0$/gm), ([, name]) => name);
    expect(new Set(order)).toEqual(new Set(publicPackages()));
    const chain = ['@ambit/container', '@ambit/transaction', '@ambit/http', '@ambit/express'];
    expect(order.filter((name = '') => chain.includes(name))).toEqual(chain);
    const about = (name: string) =>
      output
        .trim()
        .split('\n\n')
        .find((part) => part.startsWith(`${name} `)) ?? '';
    expect(about('@ambit/container')).toMatch(/publish with the dist-tag latest and provenance \(after 0\.0\.9\)/);
    expect(about('@ambit/container')).toMatch(
      /ambit-container-0\.1\.0\.tgz: [\d.]+ kB, [\d.]+ kB unpacked\n {2}files +\d+: LICENSE/,
    );
    expect(about('@ambit/http')).toContain('do nothing: npm has this version');
    expect(about('@ambit/express')).toContain('(the first version), and tag the commit @ambit/express@0.1.0');
    for (const name of order) expect(about(name ?? '')).toMatch(/\n {2}changed +\S/);
    expect(requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
    expect(changedFiles()).toBe(before);

    const lines = readFileSync(join(folder, 'publish.txt'), 'utf8').trim().split('\n');
    expect(lines.map((line) => line.split(' ')[1])).toEqual(order.filter((name) => name !== '@ambit/http'));
    expect(lines).toContain('ambit-express-0.1.0.tgz @ambit/express 0.1.0 latest');
    const files = lines.map((line) => line.split(' ')[0] ?? '');
    expect(new Set(readdirSync(folder))).toEqual(new Set([...files, 'publish.txt']));
    const manifest = execFileSync('tar', ['-xzOf', join(folder, 'ambit-express-0.1.0.tgz'), 'package/package.json'], {
      encoding: 'utf8',
    });
    expect(JSON.parse(manifest).repository.url).toBe('git+https://example.org/a/b.git');
  },
  MINUTES_5,
);

it('publishes nothing by itself: a dry run, or tarballs for the workflow', async () => {
  await expect(release([])).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('--dry-run') });
});
