import type { IContainer } from '@ambit/container';
import { type Propagation, runInTransaction } from '@ambit/transaction';

declare const scope: IContainer;
const work = async (): Promise<'result'> => 'result';

const all = ['nested', 'required', 'requires-new', 'supports', 'not-supported', 'mandatory', 'never'] as const;
const known: readonly Propagation[] = all;
const everyOne: (typeof all)[number] = {} as Propagation;
const result: 'result' = await runInTransaction(scope, work, { propagation: 'supports' });
export const used = { known, everyOne, result };

// error: Type '"notSupported"' is not assignable to type 'Propagation
await runInTransaction(scope, work, { propagation: 'notSupported' });
// error: Type '"SUPPORTS"' is not assignable to type 'Propagation
await runInTransaction(scope, work, { propagation: 'SUPPORTS' });

// Without `strictKeys`, a key that `ServiceMap` does not list is accepted, as `resolve()` accepts it.
await runInTransaction(scope, async () => undefined, { pool: 'IReportsPool', connection: 'IReportsConnection' });
// error: Type 'number' is not assignable to type
await runInTransaction(scope, async () => undefined, { pool: 1, connection: 'IReportsConnection' });
