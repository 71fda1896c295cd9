import { createIdempotency } from '@ambit/idempotency';
import type { IContainer } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import type { StandardSchema } from '@ambit/transaction/extension';

declare const pool: IDatabasePool;
declare const scope: IContainer;
declare const uuid: StandardSchema<string>;
declare const count: StandardSchema<number>;
declare const header: string | string[] | undefined;

const idempotency = createIdempotency(pool, { dialect: 'postgres', lifetimeMs: 1000 });
// error: is not assignable to type 'DatabaseName'
createIdempotency(pool, { dialect: 'mysql' });

createIdempotency(pool, { dialect: 'postgres', key: uuid });
// error: 'number' is not assignable to type 'string'
createIdempotency(pool, { dialect: 'postgres', key: count });

const request = { key: header, caller: 'ada', endpoint: 'POST /orders', input: { id: 1 } };
const placed = await idempotency.respond(scope, request, async (inner) => {
  inner.resolve('IConnection');
  return { status: 201, body: { id: 'an id' } };
});
export const id: string = placed.body.id;
export const location: string | undefined = placed.headers['location'];

// Code that forgets the caller would mix the keys of all callers.
// error: Property 'caller' is missing
await idempotency.respond(scope, { key: null, endpoint: 'POST /orders', input: 1 }, async () => ({
  status: 201,
  body: 1,
}));

// error: Property 'body' is missing
await idempotency.respond(scope, request, async () => ({ status: 204 }));

// error: 'propagation' does not exist in type 'RespondOptions'
await idempotency.respond(scope, request, async () => ({ status: 200, body: 1 }), { propagation: 'nested' });

const locked = idempotency.lock(scope, request);
export const body: Promise<number> = locked
  .respond(scope, async () => ({ status: 200, body: 1 }))
  .then((response) => response.body);
