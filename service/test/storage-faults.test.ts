import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backupSqlite } from '@ambit/transaction/sqlite';
import { describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { canMountDisks, SqliteStorage } from './support/sqlite-storage.js';
import { DISK_FULL, type Fault, fill, keepPromises } from './support/storage-faults.js';

const STORAGE = 'the storage of the database fails';
const DAMAGED = 'the database is damaged';

/** What the log asks for where the deleted file is still open. */
function copyBack(_: SqliteStorage, logged: string): void {
  const [, command = ''] = /`(cp [^`]+)`/.exec(logged) ?? [];
  expect(command).not.toBe('');
  execFileSync('sh', ['-c', command]);
}

/** As docs/service/backup.md has it. */
function restoreBackup({ file, beside }: SqliteStorage): void {
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
  copyFileSync(beside('backup'), file);
}

const backUp = ({ file: filename, beside }: SqliteStorage): Promise<void> =>
  backupSqlite({ filename, to: beside('backup') });

/** Bytes into the file as it is, which stays the one that is open. */
const overwrite = (file: string, bytes: Buffer): void => writeFileSync(file, bytes, { flag: 'r+' });

const limitFiles = ({ service }: SqliteStorage, bytes: string): void =>
  void execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:unlimited`]);

const RESTORED = { notReady: DAMAGED, restarts: true, restore: restoreBackup, destroys: true } as const;

const FAULTS: readonly Fault<SqliteStorage>[] = [
  {
    what: 'the file is deleted',
    cause: ({ file }) => rmSync(file),
    notReady: STORAGE,
    says: /ambit\.db was deleted or moved while it was in use\. Move it back, or run `cp /,
    repair: copyBack,
    restarts: true,
  },
  {
    what: 'another file is put in its place',
    cause: async (storage) => {
      await backUp(storage);
      renameSync(storage.beside('backup'), storage.file);
    },
    notReady: STORAGE,
    says: /ambit\.db was replaced by another file while it was in use\. Move it back, or run `cp /,
    repair: copyBack,
    restarts: true,
  },
  {
    what: 'the folder is moved away, and back',
    cause: ({ folder, beside }) => renameSync(folder, beside('elsewhere')),
    notReady: STORAGE,
    says: /ambit\.db was deleted or moved while it was in use/,
    repair: ({ folder, beside }) => renameSync(beside('elsewhere'), folder),
  },
  {
    what: 'the file is overwritten with something else',
    cause: async (storage) => {
      await backUp(storage);
      overwrite(storage.file, Buffer.alloc(8192, 'noise'));
    },
    says: /ambit\.db was overwritten while it was in use\. Stop this program, remove the -wal and -shm files/,
    ...RESTORED,
  },
  {
    what: 'the file is overwritten with a backup',
    cause: async (storage) => {
      await backUp(storage);
      copyFileSync(storage.beside('backup'), storage.file);
    },
    says: /ambit\.db was (?:overwritten|cut short) while it was in use/,
    ...RESTORED,
  },
  {
    what: 'the file is overwritten with an older copy of itself',
    cause: async (storage, load) => {
      await backUp(storage);
      await storage.run('PRAGMA wal_checkpoint(PASSIVE)');
      copyFileSync(storage.file, storage.beside('older'));
      const { size } = statSync(storage.file);
      while (statSync(storage.file).size === size) {
        await load.acknowledges(20);
        await storage.run('PRAGMA wal_checkpoint(PASSIVE)');
        // The service has seen the file as it is now.
        await load.acknowledges(5);
      }
      copyFileSync(storage.beside('older'), storage.file);
    },
    says: /ambit\.db was (?:overwritten|cut short) while it was in use/,
    ...RESTORED,
  },
  {
    what: 'the file is emptied',
    cause: async (storage) => {
      await backUp(storage);
      truncateSync(storage.file);
    },
    says: /ambit\.db was cut short while it was in use/,
    ...RESTORED,
  },
  {
    what: 'the second half of the file is cut off',
    cause: async (storage) => {
      await backUp(storage);
      await storage.run('PRAGMA wal_checkpoint(PASSIVE)');
      truncateSync(storage.file, Math.floor(statSync(storage.file).size / 8192) * 4096);
    },
    says: /ambit\.db was cut short while it was in use/,
    ...RESTORED,
  },
  {
    what: 'the -wal is deleted',
    cause: ({ file }) => rmSync(`${file}-wal`),
    notReady: STORAGE,
    says: /ambit\.db-wal was deleted or moved while it was in use\. The file itself has all .* restart this program/,
    restarts: true,
  },
  {
    what: 'the -shm is deleted',
    cause: ({ file }) => rmSync(`${file}-shm`),
    notReady: STORAGE,
    says: /ambit\.db-shm was deleted or moved while it was in use/,
    restarts: true,
  },
  {
    what: 'the -wal is emptied',
    cause: async (storage) => {
      await backUp(storage);
      truncateSync(`${storage.file}-wal`);
    },
    says: /ambit\.db-wal was overwritten or cut short while it was in use/,
    ...RESTORED,
  },
  {
    what: 'the -wal is overwritten',
    cause: async (storage) => {
      await backUp(storage);
      overwrite(`${storage.file}-wal`, Buffer.alloc(4096, 'noise'));
    },
    says: /ambit\.db-wal was overwritten or cut short while it was in use/,
    ...RESTORED,
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

const FULL: Fault<SqliteStorage> = {
  ...DISK_FULL,
  missing: !canMountDisks,
  cause: ({ folder }) => fill(folder),
  repair: ({ folder }) => rmSync(join(folder, 'filler')),
};

describe.each(HOST_VARIANTS)('on %s, SQLite', (host) => {
  for (const fault of [...FAULTS, FULL])
    test.skipIf(fault.missing)(`keeps its promises where ${fault.what}`, async () => {
      await using storage = new SqliteStorage({ onSmallDisk: fault === FULL });
      await expect(keepPromises(storage, host, fault)).resolves.toBeUndefined();
    });
});
