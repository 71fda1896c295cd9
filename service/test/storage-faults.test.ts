import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { backupSqlite } from '@ambit/transaction/sqlite';
import { describe, expect, test } from 'vitest';
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
