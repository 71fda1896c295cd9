// Queries of 100 rows, one after the other; under `node --trace-gc-nvp` it prints what each scavenge promoted.
import { setImmediate } from 'node:timers/promises';
import { createPostgresPool } from '../../dist/postgres/index.js';

const pool = createPostgresPool({ connectionString: process.argv[2], max: 1 });
const sql =
  "SELECT n AS id, 'user ' || n AS name, 'user' || n || '@example.com' AS email FROM generate_series(1, $1::int) AS n";
for (let count = 0; count < Number(process.argv[3]); count += 1) {
  await pool.query(sql, [100]);
  await setImmediate();
}
await pool.close();
