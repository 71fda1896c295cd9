import type { Clock } from '@ambit/transaction';
import { programOf, sqlError } from './statements.js';

export type Values = Readonly<Record<string, unknown>>;

export type TableName = 'users' | 'orders' | 'order_items' | 'stock' | 'reservations' | 'idempotency_keys';

interface Waiting {
  readonly session: Session;
  readonly resolve: () => void;
}

/** A row under its primary key: what is committed, and what the transaction that has it locked makes of it. */
export class Row {
  readonly key: string;
  committed: Values | undefined;
  owner: Session | undefined = undefined;
  pending: { readonly values: Values | undefined } | undefined = undefined;
  readonly waiting: Waiting[] = [];

  constructor(key: string, committed?: Values) {
    this.key = key;
    this.committed = committed;
  }

  seenBy(session: Session): Values | undefined {
    return this.owner === session && this.pending ? this.pending.values : this.committed;
  }
}

/** How long PostgreSQL lets a transaction wait before it looks for a deadlock. */
const DEADLOCK_MS = 1000;

/**
 * As much of PostgreSQL as the statements of the service need: rows, locks with waits, unique keys, `read committed`. It knows these
 * statements by their text and no other. A test compares it with the real one.
 */
export class SimulatedDatabase {
  readonly clock: Clock;
  /** The time of the server. */
  date = (): number => Date.now();
  readonly tables: Readonly<Record<TableName, Map<string, Row>>> = {
    users: new Map(),
    orders: new Map(),
    order_items: new Map(),
    stock: new Map(),
    reservations: new Map(),
    idempotency_keys: new Map(),
  };
  readonly sessions = new Set<Session>();
  /** What no correct client does. */
  readonly violations: string[] = [];

  constructor(clock: Clock, stock: Readonly<Record<string, number>>) {
    this.clock = clock;
    for (const [product, level] of Object.entries(stock))
      this.tables.stock.set(product, new Row(product, { product_id: product, level }));
  }

  connect(): Session {
    const session = new Session(this);
    this.sessions.add(session);
    return session;
  }

  /** The rows of a table that are committed. */
  committed(table: TableName): Values[] {
    const rows = [...this.tables[table].values()];
    return rows.map(({ committed }) => committed).filter((values) => values !== undefined);
  }
}

export interface Result {
  readonly command: string;
  readonly rows: readonly Values[];
}

/** One connection, as its server process has it. */
export class Session {
  readonly database: SimulatedDatabase;
  state: 'idle' | 'open' | 'failed' = 'idle';
  readonly #held = new Set<Row>();
  /** The row that another transaction has, and what ends the wait for it. */
  #wait: { readonly row: Row; readonly stop: (error: Error) => void } | undefined = undefined;
  #isClosed = false;

  constructor(database: SimulatedDatabase) {
    this.database = database;
  }

  async execute(sql: string, params: readonly unknown[] = []): Promise<Result> {
    if (sql.startsWith('BEGIN')) return this.#begin();
    if (sql === 'COMMIT' || sql === 'ROLLBACK') return this.#end(sql);
    const run = programOf(sql);
    if (!run) {
      this.database.violations.push(`The simulated database does not know the statement ${sql}`);
      throw this.fail('0A000');
    }
    if (this.state === 'failed') throw sqlError('the transaction is aborted', '25P02');
    try {
      const result = await run.program(this, params);
      if (this.#isClosed) throw sqlError('the session was closed', '57P01');
      if (this.state === 'idle') this.#complete(true);
      return result;
    } catch (error) {
      this.fail('');
      throw error;
    }
  }

  /** A statement was refused: nothing of the transaction is left but that it waits for ROLLBACK. */
  fail(sqlState: string): Error {
    this.#complete(false);
    if (this.state === 'open') this.state = 'failed';
    return sqlError('refused', sqlState);
  }

  /** Cancels a statement that waits. */
  cancel(): void {
    this.#wait?.stop(sqlError('canceled on request', '57014'));
  }

  /** The client has disconnected. */
  close(): void {
    this.#isClosed = true;
    this.database.sessions.delete(this);
    this.#wait?.stop(sqlError('the session was closed', '57P01'));
    this.#complete(false);
    this.state = 'idle';
  }

  /** What it sees of a table. */
  *rows(table: TableName): Generator<Values> {
    for (const row of this.database.tables[table].values()) {
      const values = row.seenBy(this);
      if (values) yield values;
    }
  }

  find(table: TableName, key: string): Values | undefined {
    return this.database.tables[table].get(key)?.seenBy(this);
  }

  /** The row of a key, which may be new; nobody else changes it until this transaction is over. */
  async lock(table: TableName, key: string, limitMs = Infinity): Promise<Row> {
    const rows = this.database.tables[table];
    for (;;) {
      const row = rows.get(key) ?? new Row(key);
      rows.set(key, row);
      if (row.owner === undefined) row.owner = this;
      else if (row.owner !== this) await this.#waitFor(row, limitMs);
      this.#held.add(row);
      if (rows.get(key) === row) return row;
    }
  }

  /** Fails where the key exists, once that is certain. */
  async insert(table: TableName, key: string, values: Values): Promise<void> {
    const row = await this.lock(table, key);
    if (row.seenBy(this)) throw sqlError(`${table} has ${key} already`, '23505');
    row.pending = { values };
  }

  async #waitFor(row: Row, limitMs: number): Promise<void> {
    const { clock } = this.database;
    const stops: (() => void)[] = [];
    try {
      await new Promise<void>((resolve, reject) => {
        const waiting = { session: this, resolve };
        const stop = (error: Error): void => {
          row.waiting.splice(row.waiting.indexOf(waiting), 1);
          reject(error);
        };
        row.waiting.push(waiting);
        this.#wait = { row, stop };
        if (limitMs < Infinity) stops.push(clock.setTimer(() => stop(sqlError('lock timeout', '55P03')), limitMs));
        const look = (): void => {
          if (this.#isWaitedFor()) stop(sqlError('deadlock', '40P01'));
        };
        stops.push(clock.setTimer(look, DEADLOCK_MS));
      });
    } finally {
      this.#wait = undefined;
      for (const stop of stops) stop();
    }
  }

  /** Whether the transaction that it waits for waits, maybe by way of others, for this one. */
  #isWaitedFor(): boolean {
    const seen = new Set<Session>();
    let at = this.#wait?.row.owner;
    while (at && at !== this && !seen.has(at)) {
      seen.add(at);
      at = at.#wait?.row.owner;
    }
    return at === this;
  }

  #begin(): Result {
    if (this.state !== 'idle') this.database.violations.push('BEGIN was sent in an open transaction');
    if (this.state === 'idle') this.state = 'open';
    return { command: 'BEGIN', rows: [] };
  }

  #end(sql: 'COMMIT' | 'ROLLBACK'): Result {
    const commits = sql === 'COMMIT' && this.state === 'open';
    if (sql === 'COMMIT' && this.state === 'idle')
      this.database.violations.push('COMMIT was sent without a transaction');
    this.#complete(commits);
    this.state = 'idle';
    // In response to the COMMIT of a failed transaction PostgreSQL says that it has rolled back.
    return { command: commits ? 'COMMIT' : 'ROLLBACK', rows: [] };
  }

  #complete(commits: boolean): void {
    const rows = [...this.#held];
    this.#held.clear();
    for (const row of rows) {
      if (commits && row.pending) row.committed = row.pending.values;
      row.pending = undefined;
    }
    for (const row of rows) {
      const next = row.waiting.shift();
      row.owner = next?.session;
      if (!next) continue;
      next.session.#receive(row);
      next.resolve();
    }
    for (const row of rows) if (!row.owner && !row.committed) this.#forget(row);
  }

  /** At once, since it may be closed before it goes on. */
  #receive(row: Row): void {
    this.#held.add(row);
    this.#wait = undefined;
  }

  #forget(row: Row): void {
    for (const table of Object.values(this.database.tables)) if (table.get(row.key) === row) table.delete(row.key);
  }
}
