import { ask, sendUntilDone, expectEqual, expectStatus } from './client.mjs';

/** @typedef {import('./stage.mjs').Stage} Stage */
/** @typedef {(stage: Stage) => Promise<string>} Scenario resolves with what was observed, throws when the guarantee is broken */

const USER = { name: 'Ada', email: 'ada@example.com' };
/** @param {string} productId */
const orderOf = (productId, quantity = 1) => ({ items: [{ productId, quantity }] });

/** @type {Record<string, Scenario>} */
export const SCENARIOS = {
  'a user created on one instance is found on the other': async ({ urls: [one, other] }) => {
    const created = await ask(`${one}/api/users`, { body: USER });
    expectStatus(created, 201);
    const user = JSON.parse(created.text);
    const found = await ask(`${other}/api/users/${user.id}`);
    expectEqual('the user', JSON.parse(found.text), user);
    const listed = JSON.parse((await ask(`${other}/api/users`)).text);
    expectEqual('the list', listed, [user]);
    return 'by its id and in the list';
  },

  'an order placed on one is replayed by the other': async ({ urls: [one, other], query }) => {
    const request = { body: orderOf('replayed'), key: 'replayed' };
    const first = await ask(`${one}/api/orders`, request);
    const second = await ask(`${other}/api/orders`, request);
    expectStatus(first, 201);
    expectStatus(second, 201);
    expectEqual('the replay', second.text, first.text);
    expectEqual('idempotency-replayed', second.headers.get('idempotency-replayed'), 'true');
    expectEqual('orders', await ordersOf(query, 'replayed'), 1);
    return 'the same bytes, one order';
  },

  'one key on both at the same time creates one order': async ({ urls, query }) => {
    const orders = urls.map((url) => `${url}/api/orders`);
    const keys = Array.from({ length: 10 }, (_, index) => `at-once-${index}`);
    const responses = await Promise.all(
      keys.map((key) => Promise.all([...orders, ...orders].map((url) => ask(url, { body: orderOf('at-once'), key })))),
    );
    for (const [index, ofKey] of responses.entries()) {
      const placed = new Set(ofKey.filter(({ status }) => status === 201).map(({ text }) => text));
      // The machine may be too busy for a new connection in time: that is 503, and nothing was done.
      const isBusy = ofKey.some(({ status }) => status === 503);
      for (const response of ofKey) if (![201, 503].includes(response.status)) expectStatus(response, 409);
      if (!isBusy) expectEqual('different orders under one key', placed.size, 1);
      const again = await sendUntilDone(orders, { body: orderOf('at-once'), key: keys[index] ?? '' });
      expectStatus(again, 201);
      expectEqual('different orders under one key, sent again', placed.add(again.text).size, 1);
    }
    expectEqual('orders', await ordersOf(query, 'at-once'), keys.length);
    const times = (/** @type {number} */ of) => responses.flat().filter(({ status }) => status === of).length;
    return `${responses.flat().length} requests with ${keys.length} keys: ${keys.length} orders, ${times(409)} times 409, ${times(503)} times 503`;
  },

  '100 orders to both sell a stock of 10 once': async ({ urls, query }) => {
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const addresses = [`${urls[index % 2]}/api/orders`];
        return sendUntilDone(addresses, { body: orderOf('scarce'), key: `scarce-${index}` }, []);
      }),
    );
    /** @type {Record<string, number>} */
    const statuses = {};
    for (const { status } of responses) statuses[status] = (statuses[status] ?? 0) + 1;
    expectEqual('responses by status', statuses, { 201: 10, 409: 90 });
    expectEqual('level', await query(`SELECT level FROM stock WHERE product_id = 'scarce'`), [{ level: 0 }]);
    expectEqual('orders', await ordersOf(query, 'scarce'), 10);
    return '10 times 201, 90 times 409, nothing left';
  },

  'an order that fails stores nothing': async ({ urls, query }) => {
    await query("INSERT INTO stock (product_id, level) VALUES ('short', 1)");
    const items = [
      { productId: 'plenty', quantity: 1 },
      { productId: 'short', quantity: 2 },
    ];
    const before = await counts(query);
    for (const url of urls) expectStatus(await ask(`${url}/api/orders`, { body: { items }, key: 'failing' }), 409);
    expectEqual('rows', await counts(query), before);
    return 'no order, no item, no reservation, no key';
  },

  'a COMMIT whose result is lost is reported as an unknown outcome': async ({
    urls: [one, other],
    query,
    loseNextCommit,
  }) => {
    const request = { body: orderOf('lost'), key: 'lost' };
    loseNextCommit();
    expectStatus(await ask(`${one}/api/orders`, request), 503);
    expectEqual('orders', await ordersOf(query, 'lost'), 1);
    const again = await sendUntilDone([`${other}/api/orders`], request);
    expectEqual('idempotency-replayed', again.headers.get('idempotency-replayed'), 'true');
    expectEqual('orders', await ordersOf(query, 'lost'), 1);
    return '503, and under the same key the order that was stored';
  },
};

/** @param {Stage['query']} query @param {string} productId */
async function ordersOf(query, productId) {
  const [row] = await query('SELECT count(*) AS n FROM order_items WHERE product_id = $1', [productId]);
  return Number(row?.['n']);
}

/** @param {Stage['query']} query */
async function counts(query) {
  const tables = ['orders', 'order_items', 'reservations', 'idempotency_keys'];
  const [row] = await query(
    `SELECT ${tables.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`).join(', ')}`,
  );
  return row;
}
