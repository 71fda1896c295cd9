// A job outside of any HTTP request: its own scope, and a transaction that is retried after a conflict.
import { Container, lifetimes, onStart, type Services } from '@ambit/container';
import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';

class Reservations {
  readonly #connection: IConnection;

  constructor(connection: IConnection) {
    this.#connection = connection;
  }

  async release(before: number): Promise<number> {
    const released = await this.#connection.query('DELETE FROM reservations WHERE made < $1 RETURNING id', [before]);
    await this.#connection.query('UPDATE stock SET level = level + $1', [released.length]);
    return released.length;
  }
}

async function createTables(pool: IDatabasePool): Promise<void> {
  await pool.query('CREATE TABLE stock (level INTEGER)');
  await pool.query('CREATE TABLE reservations (id INTEGER PRIMARY KEY, made INTEGER)');
  await pool.query('INSERT INTO stock VALUES (7)');
  await pool.query('INSERT INTO reservations (made) VALUES (100), (200), (300)');
}

const { of, make, registered, build } = lifetimes('application', 'job', 'transaction');
const graph = build({
  IDatabasePool: make('application', () => createSqlitePool({ path: ':memory:' }))
    .pipe(onStart(createTables))
    .as<IDatabasePool>(),
  IConnection: registered('transaction').as<IConnection>(),
  IReservations: of('transaction', Reservations, ['IConnection']),
});
declare module '@ambit/container' {
  interface ServiceMap extends Services<typeof graph> {}
}

const app = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);

async function releaseOldReservations(): Promise<void> {
  const job = app.createScope({ tags: ['job'] });
  try {
    const released = await runInTransaction(
      job,
      async (transaction, attempt) => {
        const count = await transaction.resolve('IReservations').release(250);
        console.log(`Attempt ${attempt.number} released ${count}`);
        if (attempt.number === 1) throw conflict();
        return count;
      },
      { retries: 5, signal: AbortSignal.timeout(10_000) },
    );
    console.log(`Committed: ${released} released`);
  } finally {
    await job.dispose();
  }
}

/** The serialization failure of a database when others write at the same time, simulated. */
function conflict(): Error {
  return Object.assign(new Error('could not serialize access'), { code: '40001' });
}

await app.start();
await releaseOldReservations();
console.log(await app.resolve('IDatabasePool').query('SELECT level FROM stock'));
await app.dispose();
