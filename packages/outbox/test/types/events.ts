import { createOutbox, type Deliver } from '@ambit/outbox';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import type { StandardSchema } from '@ambit/transaction/extension';

declare const pool: IDatabasePool;
declare const connection: IConnection;

const outbox = createOutbox(pool, { dialect: 'postgres' });
// error: is not assignable to type 'DatabaseName'
createOutbox(pool, { dialect: 'mysql' });

export const published: Promise<string> = outbox.publish(connection, { topic: 'order.created', payload: { id: 1 } });
// error: Property 'topic' is missing
await outbox.publish(connection, { payload: 1 });

const deliver: Deliver = async ({ id, payload }, signal) => {
  signal.throwIfAborted();
  // error: 'payload' is of type 'unknown'
  console.log(id, payload.total);
};

declare const schema: StandardSchema<{ id: number }, number>;
const typed = createOutbox(pool, { dialect: 'postgres', topics: { 'order.created': schema } });
await typed.publish(connection, { topic: 'order.created', payload: { id: 1 } });
// error: 'string' is not assignable to type 'number'
await typed.publish(connection, { topic: 'order.created', payload: { id: '1' } });
// error: is not assignable to type '"order.created"'
await typed.publish(connection, { topic: 'order.paid', payload: { id: 1 } });
// error: is missing in type '{}'
createOutbox(pool, { dialect: 'postgres', topics: { 'order.created': {} } });

export const relay = outbox.relay(deliver, { concurrency: 4 });
// error: 'retries' does not exist in type 'RelayOptions'
outbox.relay(deliver, { retries: 3 });
