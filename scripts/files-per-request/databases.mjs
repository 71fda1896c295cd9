import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { isListening } from '../../service/chaos/support/program.mjs';

const ADMIN = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');

/** @typedef {{ name: string, env: Record<string, string>, drop: () => Promise<void> }} Database */

/** @returns {Promise<Database[]>} empty ones: the embedded database, and PostgreSQL where it runs or is required */
export async function openDatabases() {
  if (await isListening(ADMIN)) return [openSqlite(), await openPostgres()];
  if (process.env['AMBIT_REQUIRE_POSTGRES'] === '1') throw new Error(`No PostgreSQL listens at ${ADMIN.host}`);
  console.log(`skipped: PostgreSQL, because none listens at ${ADMIN.host}`);
  return [openSqlite()];
}

/** @returns {Database} */
function openSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-files-'));
  return { name: 'SQLite', env: { DATA_DIR: folder }, drop: async () => rmSync(folder, { recursive: true }) };
}

/** @returns {Promise<Database>} */
async function openPostgres() {
  const name = `ambit_files_${randomUUID().replaceAll('-', '')}`;
  await asAdmin(`CREATE DATABASE ${name}`);
  const url = new URL(ADMIN);
  url.pathname = name;
  const drop = () => asAdmin(`DROP DATABASE ${name} WITH (FORCE)`);
  return { name: 'PostgreSQL', env: { DATABASE_URL: url.href }, drop };
}

/** @param {string} sql */
async function asAdmin(sql) {
  const client = new Client({ connectionString: ADMIN.href });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
