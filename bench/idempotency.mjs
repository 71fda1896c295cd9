// What an idempotency key costs a transaction of one INSERT: CPU time of this process and the time until COMMIT, without a key, with a
// new one, and with a known one, in turn: `npx tsc -b packages/idempotency && node bench/idempotency.mjs [rounds, default 20]`.
import { randomUUID } from 'node:crypto';
import { Container, Registration } from '../packages/container/dist/index.js';
import { databases } from '../test/kit/dist/index.js';
import { createIdempotency } from '../packages/idempotency/dist/index.js';
import { median, table } from './shared/results.mjs';

const rounds = Number(process.argv[2] ?? 20);
const REQUESTS = 200;
const KINDS = { 'no key': () => undefined, 'new key': () => randomUUID(), 'known key': () => 'known' };

const rows = [];
for (const { name, dialect, missing, open } of databases) {
  if (missing) continue;
  const database = await open();
  const { pool } = database;
  const app = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromValue(pool).to('IDatabasePool'),
  );
  const idempotency = createIdempotency(pool, { dialect });
  await idempotency.createTable();
  await pool.query('CREATE TABLE orders (id VARCHAR(36) PRIMARY KEY)');

  const place = async (key) => {
    const scope = app.createScope({ tags: ['request'] });
    const request = { key, caller: undefined, endpoint: 'POST /orders', input: [['apple', 1]] };
    await idempotency.respond(scope, request, async (transaction) => {
      const id = randomUUID();
      await transaction.resolve('IConnection').query('INSERT INTO orders (id) VALUES ($1)', [id]);
      return { status: 201, body: { id } };
    });
    await scope.dispose();
  };

  /** @type {Record<string, { cpu: number[], elapsed: number[] }>} */
  const measured = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, { cpu: [], elapsed: [] }]));
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const [kind, keyOf] of Object.entries(KINDS)) {
      const [began, start] = [process.cpuUsage(), performance.now()];
      for (let n = 0; n < REQUESTS; n++) await place(keyOf());
      const { user, system } = process.cpuUsage(began);
      if (round === 0) continue;
      measured[kind].cpu.push((user + system) / REQUESTS);
      measured[kind].elapsed.push((1000 * (performance.now() - start)) / REQUESTS);
    }
  }
  for (const [kind, { cpu, elapsed }] of Object.entries(measured))
    rows.push([`${name}, ${kind}`, median(cpu).toFixed(0), median(elapsed).toFixed(0)]);
  await database.drop();
}
console.log(table(['', 'CPU, µs', 'until COMMIT, µs'], rows));
