import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { canStartServers } from '@ambit/host-contract';
import { describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { canMountForServers, damage, PostgresStorage } from './support/postgres-storage.js';
import { DISK_FULL, type Fault, fill, keepPromises } from './support/storage-faults.js';

const DAMAGED = 'the database is damaged';
const READ_ONLY = 'ALTER SYSTEM SET default_transaction_read_only =';
const ON_SERVER: readonly Fault<PostgresStorage>[] = [
  {
    what: 'the database is read-only',
    cause: async (storage) => {
      await storage.run(`${READ_ONLY} on`);
      await storage.run('SELECT pg_reload_conf()');
    },
    notReady: 'the database is read-only',
    says: /Let DATABASE_URL lead to the primary/,
    repair: async (storage) => {
      await storage.run(`${READ_ONLY} off`);
      await storage.run('SELECT pg_reload_conf()');
    },
  },
  {
    what: 'the pages of a table are damaged',
    cause: (storage) => storage.changeTable('orders', damage),
    notReady: DAMAGED,
    says: /invalid page in block/,
    repair: (storage) => storage.restoreTable(),
    readyWithinMs: 15_000,
  },
  {
    what: 'the file of a table is deleted',
    cause: (storage) => storage.changeTable('order_items', (file) => rmSync(file)),
    notReady: DAMAGED,
    says: /could not open file/,
    repair: (storage) => storage.restoreTable(),
    readyWithinMs: 15_000,
  },
];

const emptied = ({ disk = '' }: PostgresStorage): void => rmSync(join(disk, 'filler'));

const ON_DISKS: readonly (Fault<PostgresStorage> & { readonly disk: Parameters<typeof PostgresStorage.open>[0] })[] = [
  {
    ...DISK_FULL,
    what: 'the disk of the tables is full',
    disk: { has: 'tables', megabytes: 4 },
    cause: ({ disk = '' }) => fill(disk),
    repair: emptied,
  },
  {
    what: 'the disk of everything is full, and the server stops',
    disk: { has: 'everything', megabytes: 120 },
    cause: async (storage) => {
      fill(storage.disk ?? '');
      const useLog = async (): Promise<never> => {
        for (;;) await storage.run("SELECT pg_switch_wal(), pg_logical_emit_message(false, 'test', 'text')");
      };
      // The log needs another file, and the server stops.
      await expect(useLog()).rejects.toThrow();
    },
    notReady: 'no response from the database',
    says: /AMBIT_TX_/,
    repair: async (storage) => {
      emptied(storage);
      await storage.server.restart();
    },
    readyWithinMs: 5000,
  },
];
const canMount = canMountForServers();

describe.each(HOST_VARIANTS)('on %s, PostgreSQL', (host) => {
  for (const fault of ON_SERVER)
    test.skipIf(!canStartServers)(`keeps its promises where ${fault.what}`, async () => {
      await using storage = await PostgresStorage.open();
      await expect(keepPromises(storage, host, fault)).resolves.toBeUndefined();
    });

  for (const { disk, ...fault } of ON_DISKS)
    test.skipIf(!canMount)(`keeps its promises where ${fault.what}`, async () => {
      await using storage = await PostgresStorage.open(disk);
      await expect(keepPromises(storage, host, fault)).resolves.toBeUndefined();
    });
});
