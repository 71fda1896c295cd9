import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Config, readConfig } from '../src/config/config.js';
import { ServiceProcess } from './support/service-process.js';

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const ID_OR_TIME = new RegExp(`${ID.source}|\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z`, 'g');
const HTTP_DATE = /\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g;

/**
 * Compares what a page shows with what the service responds. Ids and times differ, but each one on the page stands for
 * the same real one everywhere, so an id from a response can be part of a later command.
 */
class ShownValues {
  readonly #real = new Map<string, string>();

  /** The text of the page with the real ids and times in it. */
  toReal(shown: string): string {
    return shown.replaceAll(ID_OR_TIME, (text) => this.#real.get(text) ?? text);
  }

  /** The same, after the ids and times that are new on the page were assigned those of this response. */
  learn(shown: string, real: string): string {
    const inResponse = real.match(ID_OR_TIME) ?? [];
    for (const [index, text] of (shown.match(ID_OR_TIME) ?? []).entries())
      if (!this.#real.has(text)) this.#real.set(text, inResponse[index] ?? text);
    return this.toReal(shown);
  }
}

/** Without the `Date` header and the width of columns, which differ each time. */
function comparable(text: string): string {
  return text
    .replaceAll(HTTP_DATE, 'some day')
    .replaceAll('\r\n', '\n')
    .replaceAll(/[ \t]+/g, ' ')
    .trim();
}

const ROOT = new URL('../../', import.meta.url);

const readme = readFileSync(new URL('service/README.md', ROOT), 'utf8');
const scripts = Object.keys(
  (JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { scripts: object }).scripts,
);

/** A command, and the response that the page shows after it. */
interface Exchange {
  readonly command: string;
  readonly response: string;
}

const EXCHANGE = /^```sh\n([^`]+)```\n\n```(json|text)\n([^`]+)```$/gm;

const exchanges: readonly Exchange[] = Array.from(readme.matchAll(EXCHANGE), ([, command = '', kind, shown = '']) => ({
  command: command.trim(),
  // The formatter puts spaces into JSON, the service does not.
  response: kind === 'json' ? JSON.stringify(JSON.parse(shown)) : shown.trim(),
}));

/** The cells of each row of the table under this heading. */
function tableUnder(heading: string): readonly string[][] {
  const section = readme.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

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
