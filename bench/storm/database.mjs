import { createPostgresDatabase, run } from '../shared/postgres.mjs';

/** A database of our own, empty. */
export async function createDatabase() {
  const { url, drop } = await createPostgresDatabase(`ambit_storm_${process.pid}`);
  await run(
    url,
    'CREATE TABLE orders (id text PRIMARY KEY); CREATE TABLE items (order_id text PRIMARY KEY, product text)',
  );
  return {
    url,
    drop,

    /** Compares acknowledged orders with stored ones. */
    async count(acknowledged) {
      const rows = await run(url, 'SELECT o.id, i.order_id AS item FROM orders o FULL JOIN items i ON order_id = id');
      const stored = new Set(rows.map(({ id }) => id));
      return {
        stored: stored.size,
        missing: acknowledged.filter((id) => !stored.has(id)).length,
        half: rows.filter(({ id, item }) => id !== item).length,
      };
    },
  };
}
