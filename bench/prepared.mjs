// How much longer a statement takes on PostgreSQL that is parsed each time, because its parameters have no types in the text:
// node bench/prepared.mjs [turns, default 41], with DATABASE_URL and after npm run build.
import { createPostgresPool } from '@ambit/transaction/postgres';

const TURNS = Number(process.argv[2] ?? 41);
const WORKERS = [1, 8];
const address = new URL(process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/test');
address.searchParams.set('options', '-c search_path=bench_prepared -c synchronous_commit=off');
const pool = createPostgresPool({ connectionString: address.href, max: 8 });
const median = (times) => times.toSorted((a, b) => a - b)[TURNS >> 1];
let inserted = 0;

const read = (on, type) =>
  on.query(`SELECT id, name FROM users WHERE id = $1${type}`, [`u${1 + Math.floor(Math.random() * 1000)}`]);

const WORK = {
  'one row by its key': (type) => read(pool, type),
  'a transaction of that and an INSERT': async (type) => {
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await read(connection, type);
    await connection.query(`INSERT INTO notes (id, body) VALUES ($1${type}, $2${type})`, [`n${inserted++}`, 'x']);
    await connection.commit();
    connection.release();
  },
};

async function microseconds(work, type, workers) {
  const count = 400;
  let left = count;
  const start = performance.now();
  const run = async () => {
    while (left-- > 0) await work(type);
  };
  await Promise.all(Array.from({ length: workers }, run));
  return ((performance.now() - start) / count) * 1000;
}

await pool.query('DROP SCHEMA IF EXISTS bench_prepared CASCADE');
for (const sql of [
  'CREATE SCHEMA bench_prepared',
  'CREATE TABLE users (id text PRIMARY KEY, name text)',
  'CREATE TABLE notes (id text PRIMARY KEY, body text)',
  "INSERT INTO users SELECT 'u' || n, 'name' FROM generate_series(1, 1000) AS n",
  'ANALYZE users',
])
  await pool.query(sql);
for (const [name, work] of Object.entries(WORK)) {
  for (const workers of WORKERS) {
    const times = { '::text': [], '': [] };
    for (let turn = 0; turn < TURNS; turn++)
      for (const type of turn % 2 ? ['', '::text'] : ['::text', ''])
        times[type].push(await microseconds(work, type, workers));
    const [typed, untyped] = [median(times['::text']), median(times[''])];
    console.log(
      `${name}, ${workers} at a time: ${typed.toFixed(0)} and ${untyped.toFixed(0)} us, ${(untyped / typed).toFixed(2)}`,
    );
  }
}
await pool.query('DROP SCHEMA bench_prepared CASCADE');
await pool.close();
