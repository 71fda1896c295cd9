/** The drivers as one uses them who needs no packages of ours, with the statements of the service. */
import { join } from 'node:path';
import { Pool } from 'pg';
import { DatabaseSync } from '../../lab/kit/sqlite.mjs';

export const openDatabase = () =>
  process.env.DATABASE_URL
    ? openPostgres(process.env.DATABASE_URL)
    : openSqlite(join(process.env.DATA_DIR, 'ambit.db'));

const insertOrder = 'INSERT INTO orders (id, request_id, created_at) VALUES ($1, $2, $3)';
const insertItems = (rows) => `INSERT INTO order_items (order_id, position, product_id, quantity)
  SELECT CAST($1 AS text), CAST(item.value ->> 'position' AS integer), item.value ->> 'productId',
         CAST(item.value ->> 'quantity' AS integer)
  FROM ${rows} AS item`;

const common = {
  user: 'SELECT id, name, email FROM users WHERE id = $1 LIMIT 1',
  users: 'SELECT id, name, email FROM users ORDER BY id',
  newUser: 'INSERT INTO users (id, name, email) VALUES ($1, $2, $3)',
};

const onPostgres = {
  ...common,
  newOrder: `WITH placed AS (${insertOrder}) ${insertItems('json_array_elements(CAST($4 AS json))')}`,
  reserve: `WITH wanted AS (
      SELECT item.value ->> 'productId' AS product_id, CAST(item.value ->> 'quantity' AS integer) AS quantity
      FROM json_array_elements(CAST($2 AS json)) AS item
    ), tracked AS (
      SELECT product_id, level FROM stock WHERE product_id = ANY (ARRAY(SELECT product_id FROM wanted))
      ORDER BY product_id FOR UPDATE
    ), short AS (
      SELECT product_id FROM tracked JOIN wanted USING (product_id) WHERE level < quantity
    ), taken AS (
      UPDATE stock SET level = stock.level - quantity FROM tracked JOIN wanted USING (product_id)
      WHERE stock.product_id = tracked.product_id AND stock.product_id = ANY (ARRAY(SELECT product_id FROM wanted))
        AND NOT EXISTS (SELECT 1 FROM short)
    ), recorded AS (
      INSERT INTO reservations (request_id, product_id, quantity)
      SELECT $1, product_id, quantity FROM wanted WHERE NOT EXISTS (SELECT 1 FROM short)
    )
    SELECT product_id, level FROM tracked`,
};

const onSqlite = {
  ...common,
  newOrder: insertOrder,
  newItems: insertItems('json_each($2)'),
  levels: `SELECT product_id, level FROM stock
    WHERE product_id IN (SELECT item.value ->> 'productId' FROM json_each($1) AS item)`,
  take: `UPDATE stock SET level = level - CAST(item.value ->> 'quantity' AS integer)
    FROM json_each($1) AS item WHERE product_id = item.value ->> 'productId'`,
  record: `INSERT INTO reservations (request_id, product_id, quantity)
    SELECT CAST($1 AS text), item.value ->> 'productId', CAST(item.value ->> 'quantity' AS bigint)
    FROM json_each($2) AS item`,
};

function totals(items) {
  const wanted = new Map();
  for (const { productId, quantity } of items) wanted.set(productId, (wanted.get(productId) ?? 0) + quantity);
  return wanted;
}

const rowsOfItems = (items) => JSON.stringify(items.map((item, position) => ({ position, ...item })));
const rowsOf = (wanted) => JSON.stringify(Array.from(wanted, ([productId, quantity]) => ({ productId, quantity })));

function refuseShortage(wanted, levels) {
  const short = levels.find(({ product_id, level }) => level < wanted.get(product_id));
  if (short) throw Object.assign(new Error(`Not enough stock of ${short.product_id}`), { statusCode: 409 });
}

function openPostgres(connectionString) {
  const pool = new Pool({ connectionString, max: 10, connectionTimeoutMillis: 5000 });
  pool.on('error', console.error);
  const on = (client) => {
    const all = async (name, values) => (await client.query({ name, text: onPostgres[name], values })).rows;
    return { all, one: async (name, values) => (await all(name, values))[0], run: all };
  };
  const inTransaction = ({ run, all }) => ({
    insertOrder: ({ id, items, createdAt }, requestId) =>
      run('newOrder', [id, requestId, createdAt, rowsOfItems(items)]),
    reserve: async (items, requestId) => {
      const wanted = totals(items);
      refuseShortage(wanted, await all('reserve', [requestId, rowsOf(wanted)]));
    },
  });

  return {
    ...on(pool),
    async transaction(work) {
      const client = await pool.connect();
      let broken;
      try {
        await client.query('BEGIN');
        const result = await work(inTransaction(on(client)));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        const [rolledBack] = await Promise.allSettled([client.query('ROLLBACK')]);
        broken = rolledBack.reason;
        throw error;
      } finally {
        client.release(broken);
      }
    },
  };
}

function openSqlite(path) {
  const open = () => {
    const database = new DatabaseSync(path);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    database.exec('PRAGMA busy_timeout = 5000');
    const prepared = {};
    for (const name in onSqlite) prepared[name] = database.prepare(onSqlite[name].replaceAll('$', '?'));
    const on = {
      all: (name, values) => prepared[name].all(...(values ?? [])),
      one: (name, values) => prepared[name].get(...values),
      run: (name, values) => prepared[name].run(...values),
    };
    return { database, on };
  };
  const reader = open();
  const writer = open();
  const { all, run } = writer.on;
  const inTransaction = {
    insertOrder({ id, items, createdAt }, requestId) {
      run('newOrder', [id, requestId, createdAt]);
      run('newItems', [id, rowsOfItems(items)]);
    },
    reserve(items, requestId) {
      const wanted = totals(items);
      const rows = rowsOf(wanted);
      const levels = all('levels', [rows]);
      refuseShortage(wanted, levels);
      if (levels.length > 0) run('take', [rows]);
      run('record', [requestId, rows]);
    },
  };
  let last = Promise.resolve();
  const inTurn = (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };

  return {
    // A statement of the stand-in on Node 20 does not keep its connection open.
    reader,
    all: reader.on.all,
    one: reader.on.one,
    run: (name, values) => inTurn(() => run(name, values)),
    transaction: (work) =>
      inTurn(async () => {
        writer.database.exec('BEGIN IMMEDIATE');
        try {
          const result = await work(inTransaction);
          writer.database.exec('COMMIT');
          return result;
        } catch (error) {
          if (writer.database.isTransaction) writer.database.exec('ROLLBACK');
          throw error;
        }
      }),
  };
}
