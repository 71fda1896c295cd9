// What the programs of hosts share: an application with a table of orders, and the requests that must store one order and not the other.
import assert from 'node:assert/strict';
import { Container, Registration, singleton } from '@ambit/container';
import { createSqlitePool } from '@ambit/transaction/sqlite';

/** The application container, with a database in memory. */
export async function application() {
  const pool = createSqlitePool({ path: ':memory:' });
  await pool.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  return new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
}

/** What the route does: an order named `refused` fails after it was stored. */
export async function storeOrder(transactionScope, id) {
  await transactionScope.resolve('IConnection').query('INSERT INTO orders VALUES ($1)', [id]);
  if (id === 'refused') throw new Error('refused');
}

/** `url` has the route `POST /orders/:id`. */
export async function proveHost(url, container) {
  const send = async (id) => (await fetch(`${url}/orders/${id}`, { method: 'POST' })).status;
  assert.equal(await send('stored'), 201);
  assert.equal(await send('refused'), 500);
  assert.deepEqual(await container.resolve('IDatabasePool').query('SELECT id FROM orders'), [{ id: 'stored' }]);
}
