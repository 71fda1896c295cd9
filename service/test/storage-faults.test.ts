import { execFileSync } from 'node:child_process';
import { closeSync, copyFileSync, existsSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { backupSqlite } from '@ambit/transaction/sqlite';
import { describe, expect, test } from 'vitest';
import { OrderLoad } from './support/order-load.js';
import { canMountDisks, SqliteStorage } from './support/sqlite-storage.js';
import { DISK_FULL, type Fault, fill, keepPromises } from './support/storage-faults.js';

const STORAGE = 'the storage of the database fails';

/** As docs/service/backup.md has it. */
function restoreBackup({ file, beside }: SqliteStorage): void {
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
  copyFileSync(beside('backup'), file);
}

const backUp = ({ file: filename, beside }: SqliteStorage): Promise<void> =>
  backupSqlite({ filename, to: beside('backup') });

const limitFiles = ({ service }: SqliteStorage, bytes: string): void =>
  void execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:unlimited`]);

const RESTORED = { notReady: STORAGE, restarts: true, restore: restoreBackup, destroys: true } as const;

const FAULTS: readonly Fault[] = [
  {
    what: 'the file is deleted',
    cause: async (storage) => {
      await backUp(storage);
      rmSync(storage.file);
    },
    says: /ambit\.db was deleted or moved while it was in use\. Move it back, or stop this program and restore a backup/,
    ...RESTORED,
  },
  {
    what: 'another file is put in its place',
    cause: async (storage) => {
      await backUp(storage);
      copyFileSync(storage.beside('backup'), storage.beside('other'));
      renameSync(storage.beside('other'), storage.file);
    },
    says: /ambit\.db was replaced by another file while it was in use\. Move it back, or stop this program/,
    ...RESTORED,
  },
  {
    what: 'the folder is moved away, and back',
    cause: ({ folder, beside }) => renameSync(folder, beside('elsewhere')),
    notReady: STORAGE,
    says: /ambit\.db was deleted or moved while it was in use/,
    repair: ({ folder, beside }) => renameSync(beside('elsewhere'), folder),
  },
  {
    what: 'the disk refuses every write',
    missing: !existsSync('/usr/bin/prlimit'),
    cause: (storage) => limitFiles(storage, '0'),
    notReady: STORAGE,
    says: /disk I\/O error.*"fix":"|"fix":".*disk I\/O error/,
    repair: (storage) => limitFiles(storage, 'unlimited'),
  },
];

const FULL: Fault = {
  ...DISK_FULL,
  missing: !canMountDisks,
  cause: ({ folder }) => fill(folder),
  repair: ({ folder }) => rmSync(join(folder, 'filler')),
};

describe('on SQLite, the service', () => {
  for (const fault of [...FAULTS, FULL])
    test.skipIf(fault.missing)(`keeps its promises where ${fault.what}`, async () => {
      await using storage = new SqliteStorage({ onSmallDisk: fault === FULL });
      await expect(keepPromises(storage, fault)).resolves.toBeUndefined();
    });
});

function overwriteAt(file: string, at: number, bytes = Buffer.alloc(200, 'noise')): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}

const PAGE = 4096;

test('npm run check-database finds a damaged page, and says what to do', async () => {
  await using storage = new SqliteStorage();
  await using service = storage.start();
  await using load = new OrderLoad(await service.url());
  await load.acknowledges(40);
  await load.end();
  expect(await storage.check()).toEqual({ code: 0, output: 'No damage was found.\n' });
  service.kill();
  await service.exit;
  await storage.run('PRAGMA wal_checkpoint(TRUNCATE)');
  overwriteAt(storage.file, (statSync(storage.file).size / PAGE - 1) * PAGE);
  const { code, output } = await storage.check();
  expect(code).toBe(1);
  expect(output).toMatch(/Restore a backup/);
  expect(output).not.toMatch(/^\s+at /m);
});
