import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { backup, BackupPlace } from './support/backups.js';
import { ServiceProcess } from './support/service-process.js';

let place: BackupPlace;
let folder: string;
let file: string;
beforeEach(() => {
  place = new BackupPlace();
  ({ folder } = place);
  file = join(folder, 'backup');
});
afterEach(() => place.remove());

describe('the backup command', () => {
  test('makes a file that other users of the machine cannot read, nor the database, and never replaces one', async () => {
    const env = { DATA_DIR: join(folder, 'data') };
    await using service = new ServiceProcess(env);
    await service.url();
    expect(await backup(env, file)).toEqual({ code: 0, output: expect.stringMatching(/backup: \d+ bytes\n$/) });
    const written = [file, env.DATA_DIR, ...readdirSync(env.DATA_DIR).map((name) => join(env.DATA_DIR, name))];
    expect(written.filter((path) => (statSync(path).mode & 0o007) !== 0)).toEqual([]);
    expect(written.length).toBeGreaterThan(3);
    writeFileSync(file, 'another');
    const { code, output } = await backup(env, file);
    expect([code, readFileSync(file, 'utf8')]).toEqual([1, 'another']);
    expect(output).toContain('exists already');
  });

  test('reports that there is no database, and creates none', async () => {
    const { code, output } = await backup({ DATA_DIR: join(folder, 'none') }, file);
    expect([code, output]).toEqual([1, expect.stringContaining('ENOENT')]);
    expect([existsSync(join(folder, 'none')), existsSync(file)]).toEqual([false, false]);
  });

  test.each([
    ['prints its usage', {}, '', 64, 'npm run backup -- <file>'],
    ['refuses a database in memory', { DATA_DIR: ':memory:' }, 'x', 78, 'DATA_DIR=:memory:'],
    ['names the program of a server', { DATABASE_URL: 'postgres://ada:s3cret@127.0.0.1/shop' }, 'x', 78, 'pg_dump'],
  ])('%s', async (_what, env, target, code, words) => {
    const { output, ...exit } = await backup(env, target);
    expect([exit.code, output]).toEqual([code, expect.stringContaining(words)]);
    expect(output).not.toContain('s3cret');
  });
});
