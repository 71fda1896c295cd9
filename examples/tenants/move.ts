import { setTimeout as pause } from 'node:timers/promises';
import type { DatabasePool, IDatabasePool } from '@ambit/transaction';
import { type Directory, findPrimary, findTenant, type Primary } from './directory.ts';
import {
  addressForOwner,
  asOwner,
  createTables,
  databaseOf,
  disconnectAll,
  lockOut,
  setAside,
  unlock,
} from './tenant-database.ts';

interface MoveOptions {
  /** The copy has so long to catch up, then the tenant is opened where it was, and the move fails. Default 15 s. */
  readonly catchUpMs?: number;
}

/** How far behind the copy may be when the tenant is closed: the rest takes milliseconds. */
const LAG_BYTES = 1_000_000;
const PUBLICATION = 'move';

/** What happens next. Whatever stops the program at any of these, the same call runs the move to its end. */
export type Step = 'begin' | 'prepare' | 'copy' | 'follow' | 'lock out' | 'catch up' | 'switch' | 'unlock' | 'clean up';

/**
 * Moves a tenant to another primary while it is in use. It is closed from 'lock out' to 'unlock': the application responds
 * with 503 and Retry-After, without knowing of the move.
 */
export async function* moveTenant(
  directory: Directory,
  name: string,
  to: string,
  { catchUpMs = 15_000 }: MoveOptions = {},
): AsyncGenerator<Step, void> {
  const pools: DatabasePool[] = [];
  const connect = (primary: Primary, database?: string): DatabasePool => {
    const pool = asOwner(primary, database);
    pools.push(pool);
    return pool;
  };
  // One program at a time moves this tenant: the lock belongs to this session, and so does every change of the directory.
  const session = await directory.database.getConnection();
  /** A program that was stopped for so long that it has lost its session moves nothing any more. */
  const checkLock = (): Promise<unknown> => session.query('SELECT 1');
  try {
    await session.query('SELECT pg_advisory_lock(hashtext($1))', [`move ${name}`]);
    yield 'begin';
    const tenant = await findTenant(session, name);
    const target = await findPrimary(session, to);
    if (tenant.home.name !== to)
      await session.query(
        'INSERT INTO moves (tenant, source, target) VALUES ($1, $2, $3) ON CONFLICT (tenant) DO NOTHING',
        [name, tenant.home.name, to],
      );
    const [move] = await session.query<Move>('SELECT source, target FROM moves WHERE tenant = $1', [name]);
    if (!move) return;
    if (move.target !== to) throw new Error(`Finish the move of ${name} to ${move.target} first`);
    const source = await findPrimary(session, move.source);
    const database = databaseOf(name);
    const onTarget = connect(target);

    if (tenant.home.name !== to) {
      const from = connect(source, database);
      yield 'prepare';
      await checkLock();
      // A program that was killed may have left a statement that still runs.
      await disconnectAll(onTarget, database);
      if (!(await hasSubscription(onTarget, database))) {
        await dropSlot(connect(source), database);
        // What an earlier attempt has left is of no use: a copy without its subscription does not follow.
        await setAside(onTarget, database);
        await onTarget.query(`CREATE DATABASE ${database}`);
      }
      const copy = connect(target, database);
      yield 'copy';
      await subscribe(from, copy, database, source);
      yield 'follow';
      await until(async () => (await isCopied(copy)) && (await lagOf(from, database)) < LAG_BYTES);
      yield 'lock out';
      await lockOut(from);
      yield 'catch up';
      try {
        await catchUp(from, database, catchUpMs);
      } catch (error) {
        await unlock(from);
        throw error;
      }
      yield 'switch';
      await session.query('UPDATE tenants SET home = $2 WHERE name = $1', [name, to]);
    }
    yield 'unlock';
    const copy = connect(target, database);
    await unlock(copy);
    yield 'clean up';
    await copy.query(`DROP SUBSCRIPTION IF EXISTS ${database}`);
    await checkLock();
    await setAside(connect(source), database);
    await session.query('DELETE FROM moves WHERE tenant = $1', [name]);
  } finally {
    await session.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
    session.release();
    await Promise.all(pools.map((pool) => pool.close()));
  }
}

interface Move {
  readonly source: string;
  readonly target: string;
  readonly [column: string]: unknown;
}

/** @param server - any database of the server: subscriptions are known in all */
async function hasSubscription(server: IDatabasePool, database: string): Promise<boolean> {
  const rows = await server.query(
    'SELECT 1 FROM pg_subscription JOIN pg_database ON pg_database.oid = subdbid WHERE subname = $1 AND datname = $1',
    [database],
  );
  return rows.length > 0;
}

/** A subscription that was not created after all may have left its slot, for which the source would keep its log. */
async function dropSlot(onSource: IDatabasePool, database: string): Promise<void> {
  const slot = 'FROM pg_replication_slots WHERE slot_name = $1';
  await until(async () => {
    await onSource.query(`SELECT pg_terminate_backend(active_pid) ${slot} AND active`, [database]);
    await onSource.query(`SELECT pg_drop_replication_slot(slot_name) ${slot} AND NOT active`, [database]);
    return (await onSource.query(`SELECT 1 ${slot}`, [database])).length === 0;
  });
}

async function subscribe(from: IDatabasePool, copy: IDatabasePool, database: string, source: Primary): Promise<void> {
  const [published] = await from.query('SELECT 1 FROM pg_publication WHERE pubname = $1', [PUBLICATION]);
  if (!published) await from.query(`CREATE PUBLICATION ${PUBLICATION} FOR ALL TABLES`);
  if (await hasSubscription(copy, database)) return;
  await createTables(copy);
  const address = addressForOwner(source, database);
  await copy.query(`CREATE SUBSCRIPTION ${database} CONNECTION '${address}' PUBLICATION ${PUBLICATION}`);
}

/** Whether the rows of all tables are there, and changes follow. */
async function isCopied(copy: IDatabasePool): Promise<boolean> {
  const [tables] = await copy.query<{ copied: boolean }>(
    "SELECT coalesce(bool_and(srsubstate = 'r'), false) AS copied FROM pg_subscription_rel",
  );
  return tables?.copied === true;
}

/** How many bytes of the log the copy has not confirmed. */
async function lagOf(from: IDatabasePool, database: string, position?: string): Promise<number> {
  const [slot] = await from.query<{ lag: number }>(
    `SELECT (coalesce(CAST($2 AS pg_lsn), pg_current_wal_lsn()) - confirmed_flush_lsn)::float8 AS lag
     FROM pg_replication_slots WHERE slot_name = $1`,
    [database, position ?? null],
  );
  return slot?.lag ?? Infinity;
}

/** Nobody writes any more: what is in the log now is all there is. */
async function catchUp(from: IDatabasePool, database: string, timeoutMs: number): Promise<void> {
  const [end] = await from.query<{ position: string }>('SELECT pg_current_wal_insert_lsn()::text AS position');
  const limit = AbortSignal.timeout(timeoutMs);
  await until(async () => {
    if (limit.aborted) throw new Error('The copy did not catch up, so the tenant was opened again where it was');
    return (await lagOf(from, database, end?.position)) <= 0;
  });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(20);
}
