import { createOutbox, type Deliver } from '@ambit/outbox';
import type { IConnection, IDatabasePool } from '@ambit/transaction';

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
export const relay = outbox.relay(deliver, { concurrency: 4 });
// error: 'retries' does not exist in type 'RelayOptions'
outbox.relay(deliver, { retries: 3 });
