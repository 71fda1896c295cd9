import { Container, lifetimes, onStart, type Services } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { readConfig } from './config.ts';
import { createPool } from './database.ts';
import { createDb } from './db.ts';
import { Orders } from './orders.ts';

const { of, make, alias, registered, build } = lifetimes('application', 'request', 'transaction');

/** Refuses to start where the database is away, or its tables are missing: `migrate` creates them. */
const expectTables = (pool: IDatabasePool) => pool.query('SELECT 1 FROM orders LIMIT 1');

/** Every service of the application, its lifetime, and what it needs. The compiler checks all of it. */
export const graph = build({
  config: make('application', () => readConfig(process.env)),
  IDatabasePool: make('application', createPool, ['config']).pipe(onStart(expectTables)).as<IDatabasePool>(),
  IRequestId: registered('request').as<string>(),
  IConnection: registered('transaction').as<IConnection>(),

  // A request reads through the pool; in a transaction everything is on its connection.
  database: alias({ request: 'IDatabasePool', transaction: 'IConnection' }),
  db: make(['request', 'transaction'], createDb, ['database']),
  IOrders: of(['request', 'transaction'], Orders, ['db']),
});

declare module '@ambit/container' {
  interface ServiceMap extends Services<typeof graph> {}
  interface Settings {
    strictKeys: true; // a key that the graph does not have is a compile error
  }
}

export function createContainer(): Container {
  const container = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
  verify(container, ...graph.scopes, { noEscape: true });
  return container;
}
