// One relay in a process of its own: it passes each event on to the process that started it, which says what becomes of it.
import { mariadbPool } from '@ambit/test-kit';
import { createOutbox } from '@ambit/outbox';
import { createPostgresPool } from '@ambit/transaction/postgres';

const [dialect, url = ''] = process.argv.slice(2);
const outbox =
  dialect === 'postgres'
    ? createOutbox(createPostgresPool({ connectionString: url, max: 4 }), { dialect })
    : createOutbox(mariadbPool(url, { max: 4 }), { dialect: 'mariadb' });

/** @type {Map<number, (isTaken: boolean) => void>} */
const waiting = new Map();
let sent = 0;
process.on('message', (/** @type {{ number: number, isTaken: boolean }} */ { number, isTaken }) => {
  waiting.get(number)?.(isTaken);
  waiting.delete(number);
});

const relay = outbox.relay(
  async ({ id, key, payload }) => {
    const number = (sent += 1);
    const isTaken = await new Promise((resolve) => {
      waiting.set(number, resolve);
      process.send?.({ number, id, key, payload });
    });
    if (!isTaken) throw new Error('The receiver refused it');
  },
  {
    pollMs: 20,
    gatherMs: 0,
    claimMs: 1000,
    drainMs: 500,
    deliveryTimeoutMs: 500,
    backoffMs: 10,
    maxBackoffMs: 50,
    maxAttempts: 1_000_000,
    // Its sessions are killed now and then.
    onError: () => undefined,
  },
);
relay.start();
process.on('disconnect', () => process.exit());
// It may have happened before.
if (!process.connected) process.exit();
