// @ts-check
// One relay, in a process that is killed, stopped and continued.
import { createOutbox } from '@ambit/outbox';
import { openPool } from './pool.mjs';
import { TARGETS } from './targets.mjs';

/** @type {{ pool: import('./pool.mjs').PoolSettings, target: string, port: number, settings: import('./targets.mjs').Settings, options: import('@ambit/outbox').RelayOptions }} */
const { pool: poolSettings, target, port, settings, options } = JSON.parse(process.argv[2] ?? '');

/** @type {() => Promise<void>} */
let stop = async () => undefined;
process.once('SIGTERM', () => void stop().then(() => process.exit()));
process.once('disconnect', () => process.exit());

const pool = openPool(poolSettings, 4);
const deliver = await TARGETS[target]?.Broker.deliver(port, settings);
if (!deliver) throw new Error(`There is no target ${target}`);
const outbox = createOutbox(pool, { dialect: poolSettings.dialect });
const relay = outbox.relay(
  async (event, signal) => {
    await deliver(event, signal);
    process.send?.(event.id);
  },
  { ...options, onError: () => undefined },
);
stop = async () => {
  await relay.dispose();
  await pool.close();
};
relay.start();
process.send?.('started');
