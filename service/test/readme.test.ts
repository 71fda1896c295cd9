import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Config, readConfig } from '../src/config/config.js';
import { comparable, ShownValues } from './support/shown-values.js';
import { exchanges, readme, scripts, tableUnder } from './support/readme-page.js';
import { ServiceProcess } from './support/service-process.js';

const STOCK = resolve(import.meta.dirname, '../dist/stock.js');
const hasCurl = spawnSync('curl', ['--version']).status === 0;

describe('service/README.md', () => {
  describe.skipIf(!hasCurl)('has commands with curl', () => {
    let folder: string;
    let service: ServiceProcess;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'ambit-readme-'));
      service = new ServiceProcess({ DATA_DIR: folder });
      // The page uses SQLite, whatever database the tests use.
      vi.stubEnv('DATABASE_URL', 'postgres://nobody@127.0.0.1:1/none');
    });
    afterAll(async () => {
      vi.unstubAllEnvs();
      await service[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    });

    it('and shows the responses of the service', async () => {
      const { host } = new URL(await service.url());
      const values = new ShownValues();
      const shown: object[] = [];
      const given: object[] = [];
      for (const { command, response } of exchanges) {
        const line = values
          .toReal(command)
          .replaceAll('localhost:3000', host)
          .replace('npm run --silent stock --', `"${process.execPath}" "${STOCK}"`);
        const { stdout } = await promisify(execFile)('sh', ['-c', line], {
          env: { PATH: process.env['PATH'], DATA_DIR: folder },
        });
        shown.push({ command, response: comparable(values.learn(response, stdout)) });
        given.push({ command, response: comparable(stdout) });
      }
      expect(given).toEqual(shown);
      expect(given.length).toBeGreaterThan(5);
    });
  });

  it('has no command with an id that only its author has', () => {
    const known = /[0-9a-f]{8}-[0-9a-f]{4}-/;
    expect(exchanges.map(({ command }) => command).filter((command) => known.test(command))).toEqual([]);
  });

  it('lists every environment variable that the service reads', () => {
    const read = new Set<string>();
    readConfig(new Proxy<Record<string, undefined>>({}, { get: (_, name) => void read.add(String(name)) }));
    const listed = tableUnder('Configuration').map(([name = '']) => unquoted(name));
    expect(listed.toSorted()).toEqual([...read].toSorted());
  });

  it('shows the default of each variable', () => {
    const rows = tableUnder('Configuration').filter(([, value]) => value !== '');
    const onEach = (env: Record<string, string>): Config[] =>
      [{}, { DATABASE_URL: 'postgres://localhost/ambit' }].map((database) => readConfig({ ...database, ...env }));
    const said = rows.map(([name = '', value = '']) => [name, onEach({ [unquoted(name)]: unquoted(value) })]);
    expect(said).toEqual(rows.map(([name]) => [name, onEach({})]));
    expect(said.length).toBeGreaterThan(5);
  });

  it('names only npm scripts that exist', () => {
    const named = Array.from(readme.matchAll(/npm (?:run )?(?:--silent )?([a-z][a-z-]+)/g), ([, name = '']) => name);
    expect(named.filter((name) => !['ci', 'install', ...scripts].includes(name))).toEqual([]);
  });
});

function unquoted(cell: string): string {
  return cell.replaceAll('`', '');
}
