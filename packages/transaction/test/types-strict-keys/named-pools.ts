import type { IContainer } from '@ambit/container';
import { type IConnection, type IDatabasePool, runInTransaction, transactionOf } from '@ambit/transaction';
import { beginTransaction } from '@ambit/transaction/host';

declare module '@ambit/container' {
  interface ServiceMap {
    IAnalyticsPool: IDatabasePool;
    IAnalyticsConnection: IConnection;
    ILogger: { info(line: string): void };
  }
  interface Settings {
    strictKeys: true;
  }
}

declare const scope: IContainer;
export const analytics = { pool: 'IAnalyticsPool', connection: 'IAnalyticsConnection' } as const;

// A key of `ServiceMap` that lists a pool, and one that lists a connection.
await runInTransaction(
  scope,
  async (inner) => {
    const connection: IConnection = inner.resolve('IAnalyticsConnection');
    await connection.query('SELECT 1');
  },
  { ...analytics, readOnly: true },
);
await beginTransaction(scope, analytics);
transactionOf(scope, analytics);

// error: Type '"ILogger"' is not assignable to type
await beginTransaction(scope, { pool: 'ILogger', connection: 'IAnalyticsConnection' });
// error: Type '"IAnalyticsPool"' is not assignable to type
await beginTransaction(scope, { pool: 'IAnalyticsPool', connection: 'IAnalyticsPool' });
// error: Type '"IAnalytics"' is not assignable to type
await beginTransaction(scope, { pool: 'IAnalyticsPool', connection: 'IAnalytics' });
// error: Type '"ILogger"' is not assignable to type
transactionOf(scope, { connection: 'ILogger' });
