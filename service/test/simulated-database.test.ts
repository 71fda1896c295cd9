import { Chance, type Parts, runsOr, Simulation } from '@ambit/host-contract';
import { type IPooledConnection, sqlStateOf } from '@ambit/transaction';
import { DATABASES } from '@ambit/transaction/databases';
import { systemClock } from '@ambit/transaction/extension';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../src/database/migrate.js';
import { createPool, engineOf } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { postgres, type TestDatabase } from './support/databases.js';
import { type Session, SimulatedDatabase, type TableName } from './support/simulation/database.js';
import { textOf } from './support/simulation/statements.js';

const SCHEDULES = runsOr(20);
const STEPS = 25;
const LONGEST_MS = 5000;
const STOCK = { apple: 5, pear: 20 };

const LOCKING: ReadonlySet<string> = new Set(['take stock', 'take', 'delivery', 'key', 'response']);

type Pool = ReturnType<typeof createPool>;

/** How a statement ended: its rows, or the SQLSTATE with which it was refused. */
type Outcome = string;

/** A session of the simulated database and one of PostgreSQL that do the same. */
class Twin {
  readonly name: string;
  readonly simulated: Session;
  readonly real: IPooledConnection;
  readonly pid: number;
  state: 'idle' | 'open' | 'failed' = 'idle';
  /** The statement that waits for a lock, in both. */
  waiting: { readonly what: string; readonly simulated: Settling; readonly real: Settling } | undefined = undefined;

  constructor(name: string, simulated: Session, real: IPooledConnection, pid: number) {
    this.name = name;
    this.simulated = simulated;
    this.real = real;
    this.pid = pid;
  }
}

interface Settling {
  outcome: Outcome | undefined;
  readonly settled: Promise<Outcome>;
}

/** In whatever order: the statements of the service that depend on one say so, and others have none. */
const textsOf = (rows: readonly object[]): string =>
  rows
    .map((row) =>
      JSON.stringify(Object.fromEntries(Object.entries(row).toSorted(([one], [other]) => (one < other ? -1 : 1)))),
    )
    .toSorted()
    .join(' ');

function settling(work: Promise<readonly object[]>): Settling {
  const state: Settling = {
    outcome: undefined,
    settled: work.then(
      (rows) => (state.outcome = textsOf(rows)),
      (error: unknown) => (state.outcome = `refused with ${sqlStateOf(error)}`),
    ),
  };
  return state;
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Random statements of the service on three sessions, on the simulated database and on PostgreSQL: all must have the same outcome. */
class Schedule {
  readonly #chance: Chance;
  readonly #pool: Pool;
  readonly #simulated = new SimulatedDatabase(systemClock, STOCK);
  readonly #broken: string[] = [];
  readonly #trace: string[] | undefined;
  readonly #parts: Parts;
  #twins: readonly Twin[] = [];
  #ids = 0;

  constructor(seed: number, pool: Pool, trace: string[] | undefined, parts: Parts) {
    this.#chance = new Chance(seed);
    this.#pool = pool;
    this.#trace = trace;
    this.#parts = parts;
  }

  async play(): Promise<readonly string[]> {
    await this.#begin();
    for (let step = 1; step <= STEPS && this.#broken.length === 0; step += 1) {
      const chance = this.#chance.fork();
      const free = this.#twins.filter(({ waiting }) => !waiting);
      const twin = free[chance.below(free.length)];
      if (twin && this.#parts.has(`s${step}`)) await this.#step(twin, chance);
      await this.#compareWaiting();
    }
    // In this order, and again: who waits for another goes on when that one has ended.
    for (let round = 0; round < this.#twins.length; round += 1)
      for (const twin of this.#twins) {
        if (!twin.waiting && twin.state !== 'idle') await this.#end(twin, 'ROLLBACK');
        await this.#compareWaiting();
      }
    if (this.#broken.length === 0) await this.#compareTables();
    for (const { real } of this.#twins) real.release(true);
    return this.#broken;
  }

  async #begin(): Promise<void> {
    await this.#pool.query('TRUNCATE users, orders, order_items, stock, reservations, idempotency_keys');
    for (const [product, level] of Object.entries(STOCK))
      await this.#pool.query('INSERT INTO stock (product_id, level) VALUES ($1, $2)', [product, level]);
    this.#twins = await Promise.all(
      ['A', 'B', 'C'].map(async (name) => {
        const real = await this.#pool.getConnection();
        const [row] = await real.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        return new Twin(name, this.#simulated.connect(), real, Number(row?.pid));
      }),
    );
  }

  async #step(twin: Twin, chance: Chance): Promise<void> {
    if (twin.state === 'failed') return this.#end(twin, 'ROLLBACK');
    if (twin.state === 'open' && chance.of(0.25)) return this.#end(twin, chance.pick(['COMMIT', 'COMMIT', 'ROLLBACK']));
    if (twin.state === 'idle' && chance.of(0.7)) {
      twin.state = 'open';
      await Promise.all([twin.simulated.execute('BEGIN'), twin.real.beginTransaction()]);
      return;
    }
    const now = 1000 + chance.below(100);
    const [name, params] = this.#statement(chance, now, twin.state === 'open');
    // The first is what the service does; the others are those of its mutants.
    const isOfService = JSON.stringify(params).split('product_id').length > 2 || chance.of(0.5);
    const chosen: string[] = [];
    const sql = textOf(name, (choices) => {
      chosen.push(isOfService ? String(choices[0]) : chance.pick(choices));
      return String(chosen.at(-1));
    });
    const what = `${twin.name}: ${name}${chosen.length > 0 ? ` {${chosen.join('|')}}` : ''} ${JSON.stringify(params)}`;
    this.#trace?.push(what);
    this.#simulated.date = () => now;
    const simulated = settling(twin.simulated.execute(sql, params).then(({ rows }) => rows));
    const real = settling(twin.real.query(sql.replaceAll(DATABASES.postgres.now, String(now)), params));
    twin.waiting = { what, simulated, real };
    // Its wait has a limit, which is the same in both.
    if (name === 'key') await Promise.all([simulated.settled, real.settled]);
  }

  async #end(twin: Twin, how: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    this.#trace?.push(`${twin.name}: ${how}`);
    twin.state = 'idle';
    await Promise.all([twin.simulated.execute(how), how === 'COMMIT' ? twin.real.commit() : twin.real.rollback()]);
  }

  /** Where the one waits, the other does. */
  async #compareWaiting(): Promise<void> {
    await turn();
    for (const twin of this.#twins) {
      const { waiting } = twin;
      if (!waiting) continue;
      const { what, simulated, real } = waiting;
      if (simulated.outcome === undefined) {
        if (await this.#waits(twin, real)) continue;
        this.#broken.push(`${what} waits, and in PostgreSQL it is ${real.outcome}`);
        return;
      }
      // PostgreSQL may take a while to notice that a lock is free.
      const late = new Promise<Outcome>((resolve) => void setTimeout(resolve, LONGEST_MS, 'it waits'));
      const outcome = await Promise.race([real.settled, late]);
      this.#trace?.push(`   ${twin.name} has ${outcome}`);
      if (outcome !== simulated.outcome)
        this.#broken.push(`${what} is ${simulated.outcome}, and in PostgreSQL ${outcome}`);
      twin.waiting = undefined;
      if (outcome.startsWith('refused') && twin.state === 'open') twin.state = 'failed';
    }
  }

  /** Whether the statement waits for a lock in PostgreSQL, once it has come so far. */
  async #waits({ pid }: Twin, { settled }: Settling): Promise<boolean> {
    for (;;) {
      const ended = await Promise.race([
        settled.then(() => true),
        new Promise((resolve) => void setTimeout(resolve, 5, false)),
      ]);
      if (ended) return false;
      const sql = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'";
      if ((await this.#pool.query(sql, [pid])).length > 0) return true;
    }
  }

  #statement(chance: Chance, now: number, inTransaction: boolean): readonly [name: string, params: readonly unknown[]] {
    const id = (): string => `id${String((this.#ids += 1)).padStart(4, '0')}`;
    const products = chance.pick([['apple'], ['pear'], ['apple', 'pear'], ['apple', 'other']]);
    const items = products.map((product, position) => ({
      product_id: product,
      position,
      quantity: 1 + chance.below(4),
    }));
    const json = JSON.stringify(items);
    const key = chance.pick(['k1', 'k2']);
    const one = JSON.stringify(items.slice(0, 1));
    const statements: readonly (readonly [string, readonly unknown[]])[] = [
      ['order with items', [id(), id(), '2030', json]],
      ['take stock', [id(), one]],
      ['take stock', [id(), json]],
      ['take stock', [id(), json]],
      ['key', [key, chance.pick(['f1', 'f2']), now - chance.pick([0, 1050])]],
      ['key', [key, 'f1', now]],
      ['find key', [key]],
      ['response', [key, 201, null, '{}']],
      ['take', [one]],
      ['delivery', [chance.pick(['apple', 'pear']), 1 + chance.below(5)]],
      ['record', [id(), json]],
      ['order', [id(), id(), '2030']],
      ['user', [id(), 'name', 'email']],
      ['users', ['']],
      ['find user', [`id000${1 + chance.below(5)}`]],
    ];
    // Who comes first of several that wait for one row is left to chance in PostgreSQL.
    const isWaiting = this.#twins.some(({ waiting }) => waiting);
    if (isWaiting) return chance.pick(statements.filter(([name]) => !LOCKING.has(name)));
    const [name, params] = inTransaction
      ? chance.pick(statements)
      : chance.pick([...statements, ['expired keys', [-1, now - 1050]] as const]);
    return [name, params];
  }

  async #compareTables(): Promise<void> {
    for (const table of Object.keys(this.#simulated.tables) as TableName[]) {
      const real = await this.#pool.query(`SELECT * FROM ${table}`);
      const [here, there] = [textsOf(this.#simulated.committed(table)), textsOf(real)];
      if (here !== there) this.#broken.push(`${table} has ${here}, and in PostgreSQL ${there}`);
    }
  }
}

describe.skipIf(postgres.missing)('the simulated database', () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeAll(async () => {
    database = await postgres.open();
    const config = readConfig(database.env);
    pool = createPool(config.database);
    await migrate(pool, engineOf(config.database));
  });
  afterAll(async () => {
    await pool.close();
    await database.drop();
  });

  test(`does what PostgreSQL does, in ${SCHEDULES} random schedules`, { timeout: 0 }, async () => {
    const play = (seed: number, trace: string[] | undefined, parts: Parts): Promise<readonly string[]> =>
      new Schedule(seed, pool, trace, parts).play();
    expect(await new Simulation(play, () => true).report(SCHEDULES)).toBe('');
  });
});
