import { expect, onTestFinished } from 'vitest';
import type { DatabasePool } from '@ambit/transaction';
import type { PoolOptions } from './pool-contract.js';

/** A database whose driver's pool has users besides ours. */
export interface SharedDatabase {
  /**
   * Opens a pool on the database.
   *
   * @param options - its limits
   * @returns the pool, which `drop()` closes
   */
  pool(options?: PoolOptions): DatabasePool | Promise<DatabasePool>;
  /**
   * Another user of the driver's pool that was made last: runs the statements on one of its connections, and returns it as it is.
   *
   * @param statements - in their order
   */
  elsewhere?(...statements: readonly string[]): Promise<void>;
}

/** One thing that a user leaves in a connection, and how the next one would notice. */
export interface Leftover {
  /** The name in the title of its test: `a role` gives `does not pass on a role`. */
  readonly what: string;
  /** The statements of one user, all on one connection. */
  readonly leave: readonly string[];
  /** A statement of the next user. */
  readonly look: string;
  /** The result that `look` has to give: its first row, or the `code` and `sqlState` of its error. */
  readonly expected: object;
  /** The pool refuses the last statement of `leave`, with this code. */
  readonly refused?: string;
  /** Run before, by each test. */
  readonly setUp?: readonly string[];
}

type Add = (title: string, run: () => Promise<void>) => void;

/** @internal Nothing that a user leaves in a connection reaches the next one, nor does anything that others do with the driver's pool. */
export function inheritsNothing(
  add: Add,
  database: () => SharedDatabase,
  { leftovers, hasOtherUsers }: { readonly leftovers: readonly Leftover[]; readonly hasOtherUsers: boolean },
): void {
  const bodies = async (pool: DatabasePool): Promise<string[]> => {
    const rows = await pool.query<{ body: string }>('SELECT body FROM notes ORDER BY id');
    return rows.map(({ body }) => body);
  };

  for (const { what, leave, look, expected, refused, setUp = [] } of leftovers) {
    add(`does not pass on ${what}`, async () => {
      const pool = await database().pool({ max: 1 });
      for (const sql of setUp) await pool.query(sql);
      for (const inTransaction of [false, true]) {
        const connection = await pool.getConnection();
        if (inTransaction) await connection.beginTransaction();
        for (const [index, sql] of leave.entries()) {
          const left = connection.query(sql);
          if (refused === undefined || index < leave.length - 1) await left;
          else await expect(left).rejects.toMatchObject({ code: refused });
        }
        if (inTransaction) await connection.commit();
        connection.release();
        const found = await pool.query(look).then(
          ([row]) => row,
          (error: unknown) => error,
        );
        expect(found).toMatchObject(expected);
      }
    });
  }

  if (!hasOtherUsers) return;

  /** The warnings of the process. */
  const reported = (): unknown[] => {
    const codes: unknown[] = [];
    const listen = (warning: Error & { code?: unknown }): void => void codes.push(warning.code);
    process.on('warning', listen);
    onTestFinished(() => void process.removeListener('warning', listen));
    return codes;
  };
  const leavesOpen = async (): Promise<DatabasePool> => {
    const pool = await database().pool({ max: 1 });
    await database().elsewhere?.('BEGIN', "INSERT INTO notes (id, body) VALUES (1, 'half')");
    return pool;
  };

  add('stores a statement that meets the transaction of another user, and reports it', async () => {
    const codes = reported();
    const pool = await leavesOpen();
    await pool.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['acknowledged']);
    await pool.close();
    expect(await bodies(await database().pool())).toEqual(['acknowledged']);
    await new Promise(setImmediate);
    expect(codes).toEqual(['AMBIT_TX_ALREADY_OPEN']);
  });

  add('commits its own work only where it meets the transaction of another user, and reports it', async () => {
    const codes = reported();
    const pool = await leavesOpen();
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query('INSERT INTO notes (id, body) VALUES (2, $1)', ['kept']);
    await connection.commit();
    connection.release();
    await pool.close();
    expect(await bodies(await database().pool())).toEqual(['kept']);
    await new Promise(setImmediate);
    expect(codes).toEqual(['AMBIT_TX_ALREADY_OPEN']);
  });
}
