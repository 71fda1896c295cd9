import { Client } from 'pg';

const MAIN = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const NAME = `ambit_storm_${process.pid}`;

/** A database of our own, empty. */
export async function createDatabase() {
  const url = new URL(MAIN);
  url.pathname = NAME;
  await run(MAIN, `DROP DATABASE IF EXISTS ${NAME} WITH (FORCE)`);
  await run(MAIN, `CREATE DATABASE ${NAME}`);
  await run(
    url.href,
    'CREATE TABLE orders (id text PRIMARY KEY); CREATE TABLE items (order_id text PRIMARY KEY, product text)',
  );
  return {
    url: url.href,
    drop: () => run(MAIN, `DROP DATABASE ${NAME} WITH (FORCE)`),

    /** Compares what clients were promised with what is there. */
    async count(acknowledged) {
      const rows = await run(
        url.href,
        'SELECT o.id, i.order_id AS item FROM orders o FULL JOIN items i ON order_id = id',
      );
      const stored = new Set(rows.map(({ id }) => id));
      return {
        stored: stored.size,
        missing: acknowledged.filter((id) => !stored.has(id)).length,
        half: rows.filter(({ id, item }) => id !== item).length,
      };
    },
  };
}

async function run(connectionString, sql) {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
