import { readFileSync } from 'node:fs';
import { Client } from 'pg';

export const MAIN = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** A database of our own in the PostgreSQL at DATABASE_URL, empty. */
export async function createPostgresDatabase(name) {
  const url = new URL(MAIN);
  url.pathname = name;
  const drop = () => run(MAIN, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await drop();
  await run(MAIN, `CREATE DATABASE ${name}`);
  return { url: url.href, drop };
}

/** Gives the rows of a statement, on a connection for it alone. */
export async function run(connectionString, sql) {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Microseconds of CPU that some processes of the server have used; undefined where they are not on this Linux machine. */
export async function cpuOfBackends(where) {
  const backends = await run(MAIN, `SELECT pid FROM pg_stat_activity WHERE ${where}`);
  try {
    const nanoseconds = backends.map(({ pid }) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]));
    return nanoseconds.reduce((sum, used) => sum + used, 0) / 1000;
  } catch {
    return undefined;
  }
}
