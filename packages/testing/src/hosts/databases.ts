import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IDatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { WatchedConnection } from '../tools/watched-pool.js';

/** A database of a test file alone, removed by `drop()`. */
export interface TestDatabase {
  /** A pool on it. */
  readonly pool: IDatabasePool;
  /** How many connections that write its pool hands out at a time. */
  readonly writers: number;
  /** True if it has constraints that are checked at COMMIT, which is then refused. */
  readonly defersConstraints: boolean;
  /** Cuts the connection as the database's operator or a broken line would, and resolves when it is cut. */
  readonly kill: (connection: WatchedConnection) => Promise<void>;
  /** Closes the pool, and removes the database. */
  readonly drop: () => Promise<void>;
}

/** A database that the contract runs on. */
export interface DatabaseKind {
  /** Its name in the titles of tests. */
  readonly name: string;
  /** The name of its SQL in packages with tables of their own. */
  readonly dialect: 'postgres' | 'sqlite' | 'mariadb';
  /** True if its tests are skipped, because no server is there. */
  readonly missing: boolean;
  /** Opens an empty one. `writers`: how many connections that write its pool hands out, where the database has several. Default 2. */
  readonly open: (options?: { readonly writers?: number }) => Promise<TestDatabase>;
}

/** @internal A file in the folder for temporary files. It needs no server. */
export const sqliteDatabase: DatabaseKind = {
  name: 'SQLite',
  dialect: 'sqlite',
  missing: false,
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
    const pool = createSqlitePool({ path: join(folder, 'test.db'), acquireTimeoutMs: 60_000, closeTimeoutMs: 100 });
    return {
      pool,
      writers: 1,
      defersConstraints: true,
      kill: async (connection) => connection.die(),
      drop: async () => {
        await pool.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
};
