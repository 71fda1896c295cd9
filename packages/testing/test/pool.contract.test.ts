import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabasePool } from '@ambit/transaction';
import { nodeSqliteEngine, sqlitePoolOver } from '@ambit/transaction/extension';
import { DatabaseSync } from '@photostructure/sqlite';
import { poolContract } from '../src/pools.js';

// The pool of README.md.
poolContract({
  name: 'the driver of the page',
  beginWaits: true,
  hasOneConnection: true,
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'my-pool-'));
    const pools: DatabasePool[] = [];
    return {
      pool: ({ max: _one, closeTimeoutMs = 100, ...others } = {}) => {
        const database = new DatabaseSync(join(folder, 'test.db'), { timeout: 0 });
        const pool = sqlitePoolOver(nodeSqliteEngine(database), { closeTimeoutMs, ...others });
        pools.push(pool);
        return pool;
      },
      drop: async () => {
        for (const pool of pools) await pool.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
});
