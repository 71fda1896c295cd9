/** What the hand-written contestant and NestJS have in common: the same drivers, SQL, rules for bodies, and log. */
import { join } from 'node:path';
import Database from 'libsql';
import { Pool } from 'pg';
import { pino, stdTimeFunctions } from 'pino';

export const openDatabase = () =>
  process.env.DATABASE_URL
    ? openPostgres(process.env.DATABASE_URL)
    : openSqlite(join(process.env.DATA_DIR, 'ambit.db'));

/** Lines are written before the call returns, as in the service. */
export const openLog = () =>
  pino(
    { level: process.env.LOG_LEVEL, base: null, timestamp: stdTimeFunctions.isoTime },
    pino.destination({ dest: 1, sync: true }),
  );

export const logLine = (requestId, method, url, status, ms) => ({
  msg: 'request',
  requestId,
  method,
  path: url.split('?', 1)[0],
  status,
  ms: Math.round(ms * 100) / 100,
});

const text = { type: 'string', pattern: '^[^\\0\\p{Surrogate}]*$' };

export const newUserSchema = {
  type: 'object',
  properties: {
    name: { ...text, minLength: 1, maxLength: 200 },
    email: { type: 'string', maxLength: 320, format: 'email' },
  },
  required: ['name', 'email'],
  additionalProperties: false,
};

export const newOrderSchema = {
  type: 'object',
  properties: {
    items: {
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      items: {
        type: 'object',
        properties: {
          productId: { ...text, minLength: 1, maxLength: 200 },
          quantity: { type: 'integer', minimum: 1, maximum: 1_000_000 },
        },
        required: ['productId', 'quantity'],
        additionalProperties: false,
      },
    },
  },
  required: ['items'],
  additionalProperties: false,
};

const statements = (elements, forUpdate) => ({
  user: 'SELECT id, name, email FROM users WHERE id = $1 LIMIT 1',
  users: 'SELECT id, name, email FROM users ORDER BY id',
  newUser: 'INSERT INTO users (id, name, email) VALUES ($1, $2, $3)',
  newOrder: 'INSERT INTO orders (id, request_id, created_at) VALUES ($1, $2, $3)',
  newItems: `INSERT INTO order_items (order_id, position, product_id, quantity)
    SELECT CAST($1 AS text), CAST(item.value ->> 'position' AS integer), item.value ->> 'productId',
           CAST(item.value ->> 'quantity' AS integer)
    FROM ${elements('$2')} AS item`,
  lockStock: `SELECT product_id, level FROM stock
    WHERE product_id IN (SELECT item.value ->> 'productId' FROM ${elements('$1')} AS item)
    ORDER BY product_id ${forUpdate}`,
  takeStock: `UPDATE stock SET level = level - CAST(item.value ->> 'quantity' AS integer)
    FROM ${elements('$1')} AS item WHERE product_id = item.value ->> 'productId'`,
  reserve: `INSERT INTO reservations (request_id, product_id, quantity)
    SELECT CAST($1 AS text), item.value ->> 'productId', CAST(item.value ->> 'quantity' AS bigint)
    FROM ${elements('$2')} AS item`,
});

function openPostgres(connectionString) {
  const pool = new Pool({ connectionString, max: 10, connectionTimeoutMillis: 5000 });
  pool.on('error', console.error);
  const sql = statements((parameter) => `json_array_elements(CAST(${parameter} AS json))`, 'FOR UPDATE');
  const on = (client) => {
    const all = async (name, values) => (await client.query({ name, text: sql[name], values })).rows;
    return { all, one: async (name, values) => (await all(name, values))[0], run: all };
  };

  return {
    ...on(pool),
    async transaction(work) {
      const client = await pool.connect();
      let broken;
      try {
        await client.query('BEGIN');
        const result = await work(on(client));
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
  const sql = statements((parameter) => `json_each(${parameter})`, '');
  const open = () => {
    const database = new Database(path);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    database.exec('PRAGMA busy_timeout = 5000');
    const prepared = {};
    for (const name in sql) prepared[name] = database.prepare(sql[name]);
    const on = {
      all: (name, values) => prepared[name].all(values ?? []),
      one: (name, values) => prepared[name].get(values),
      run: (name, values) => prepared[name].run(values),
    };
    return { database, on };
  };
  const reader = open();
  const writer = open();
  let last = Promise.resolve();
  const inTurn = (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };

  return {
    all: reader.on.all,
    one: reader.on.one,
    run: (name, values) => inTurn(() => writer.on.run(name, values)),
    transaction: (work) =>
      inTurn(async () => {
        writer.database.exec('BEGIN IMMEDIATE');
        try {
          const result = await work(writer.on);
          writer.database.exec('COMMIT');
          return result;
        } catch (error) {
          if (writer.database.inTransaction) writer.database.exec('ROLLBACK');
          throw error;
        }
      }),
  };
}
