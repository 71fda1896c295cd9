import type { IContainer } from '@ambit/container';
import { runInTransaction } from '@ambit/transaction';

declare const scope: IContainer;

// Without `strictKeys`, a key that `ServiceMap` does not list is accepted, as `resolve()` accepts it.
await runInTransaction(scope, async () => undefined, { pool: 'IReportsPool', connection: 'IReportsConnection' });
// error: Type 'number' is not assignable to type
await runInTransaction(scope, async () => undefined, { pool: 1, connection: 'IReportsConnection' });
