// Runs transactions over postgres.js while the server terminates its sessions: node terminated-sessions.mjs <url>
import { setTimeout as pause } from 'node:timers/promises';
import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import { Client } from 'pg';
import postgres from 'postgres';

const [url = ''] = process.argv.slice(2);
const application_name = `ambit ${process.pid}`;
// With it, postgres.js crashes the process where a session is terminated while a new connection asks for the types of arrays.
const sql = postgres(url, { max: 4, fetch_types: false, onnotice: () => {}, connection: { application_name } });
const pool = fromPostgresJs(sql, { acquireTimeoutMs: 1000 });
const outcomes = { committed: 0, lost: 0 };
const start = Date.now();
const isOver = () => Date.now() > start + 2000 && outcomes.committed > 0 && outcomes.lost > 0;

async function transaction() {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    await connection.query('SELECT pg_sleep(0.002), $1::int', [1]);
    // A session that is terminated now has no statement to fail.
    await pause(5);
    await connection.query('SELECT 1');
    await connection.commit();
  } finally {
    connection.release();
  }
}

async function work() {
  while (!isOver()) {
    await transaction().then(
      () => (outcomes.committed += 1),
      () => (outcomes.lost += 1),
    );
  }
}

async function terminate() {
  const admin = new Client(url);
  await admin.connect();
  const all = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1';
  while (!isOver()) {
    await admin.query(`${all} ORDER BY random() LIMIT 1`, [application_name]);
    await pause(20);
  }
  await admin.end();
}

await Promise.all([terminate(), ...Array.from({ length: 8 }, work)]);
console.log(JSON.stringify(outcomes));
process.exit();
