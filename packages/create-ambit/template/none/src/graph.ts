import { Container, lifetimes, onStart, type Services } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { readConfig } from './config.ts';
import { createPool, expectTables } from './database.ts';
import { Orders } from './orders.ts';

const { of, make, alias, registered, build } = lifetimes('application', 'request', 'transaction');

/** Every service of the application, its lifetime, and what it needs. The compiler checks all of it. */
export const graph = build({
  config: make('application', () => readConfig(process.env)),
  IDatabasePool: make('application', createPool, ['config']).pipe(onStart(expectTables)).as<IDatabasePool>(),
  IRequestId: registered('request').as<string>(),
  IConnection: registered('transaction').as<IConnection>(),

  // A request reads through the pool; in a transaction everything is on its connection.
  db: alias({ request: 'IDatabasePool', transaction: 'IConnection' }),
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
