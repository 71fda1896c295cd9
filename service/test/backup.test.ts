import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPool } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { backup, backupKinds, BackupPlace, type Environment, PATH } from './support/backups.js';
import { postgres } from './support/databases.js';
import { request } from './support/http.js';
import { ServiceProcess } from './support/service-process.js';

let place: BackupPlace;
let folder: string;
beforeEach(() => {
  place = new BackupPlace();
  ({ folder } = place);
});
afterEach(() => place.remove());

async function use(url: string): Promise<void> {
  const post = (path: string, body: object, headers = {}): Promise<unknown> =>
    request(url, { method: 'POST', path, body, headers });
  for (const name of ['Ada', 'Grace']) await post('/api/users', { name, email: `${name}@example.org` });
  await post('/api/orders', { items: [{ productId: 'apple', quantity: 2 }] }, { 'idempotency-key': 'k-1' });
}

describe.each(backupKinds)('a backup of $name', ({ missing, open }) => {
  test.skipIf(missing)('cannot be read by other users of the machine, nor can the database', async () => {
    const env = await open(place);
    await using service = new ServiceProcess(env);
    await use(await service.url());
    const file = join(folder, 'backup');
    await backup({ ...PATH, ...env }, file);
    const { DATA_DIR: data } = env;
    const written = data === undefined ? [file] : [file, data, ...readdirSync(data).map((name) => join(data, name))];
    expect(written.filter((path) => (statSync(path).mode & 0o007) !== 0)).toEqual([]);
    expect(written.length).toBeGreaterThan(data === undefined ? 0 : 3);
  });

  test.skipIf(missing)('never replaces a file', async () => {
    const env = await open(place);
    await using service = new ServiceProcess(env);
    await service.url();
    const file = join(folder, 'backup');
    writeFileSync(file, 'another');
    const { code, output } = await backup({ ...PATH, ...env }, file);
    expect([code, readFileSync(file, 'utf8')]).toEqual([1, 'another']);
    expect(output).toContain('exists already');
  });
});

describe('the backup command', () => {
  const REFUSED = { code: 1, output: expect.stringContaining('DATABASE_URL has no tables of the service'), left: [] };

  async function ofForeign(env: Environment): Promise<object> {
    await using pool = createPool(readConfig(env).database);
    await pool.query('CREATE TABLE migrations (id integer)');
    return { ...(await backup({ ...PATH, ...env }, join(folder, 'backup'))), left: readdirSync(folder) };
  }

  test('prints its usage', async () => {
    expect(await backup(PATH)).toEqual({ code: 64, output: expect.stringContaining('npm run backup -- <file>') });
  });

  test.skipIf(postgres.missing)('refuses a PostgreSQL database of another program', async () => {
    expect(await ofForeign(await place.newDatabase())).toEqual(REFUSED);
  });

  test('refuses a database in memory', async () => {
    const { code, output } = await backup({ ...PATH, DATA_DIR: ':memory:' }, join(folder, 'backup'));
    expect([code, output]).toEqual([78, expect.stringContaining('DATA_DIR=:memory:')]);
  });

  test('reports that there is no database, and creates none', async () => {
    const { code, output } = await backup({ ...PATH, DATA_DIR: join(folder, 'none') }, join(folder, 'backup'));
    expect([code, output]).toEqual([1, expect.stringContaining('ENOENT')]);
    expect([existsSync(join(folder, 'none')), existsSync(join(folder, 'backup'))]).toEqual([false, false]);
  });

  test('reports that pg_dump is missing', async () => {
    const env = { PATH: folder, DATABASE_URL: 'postgres://ada:s3cret@127.0.0.1/shop' };
    const { code, output } = await backup(env, join(folder, 'backup'));
    expect([code, output]).toEqual([1, expect.stringContaining('postgresql-client')]);
  });

  test('prints the errors of pg_dump, and passes it the password through the environment', async () => {
    const program = join(folder, 'pg_dump');
    writeFileSync(program, '#!/bin/sh\necho "$PGPASSWORD $*" >&2\nexit 1\n', { mode: 0o755 });
    const env = { PATH: folder, DATABASE_URL: 'postgres://ada:s3%40cret@h1:1,h2/shop?target_session_attrs=any' };
    const { code, output } = await backup(env, join(folder, 'backup'));
    expect(code).toBe(1);
    expect(output).toMatch(
      /^s3@cret --format=custom --file=\S+ --dbname=postgres:\/\/ada@h1:1,h2\/shop\?target_session_attrs=any\n$/,
    );
  });
});
