import { readdir, readFile } from 'node:fs/promises';
import { splitStatements } from '@ambit/transaction';
import type { Db } from './db.ts';

const FOLDER = new URL('../migrations/', import.meta.url);

/** Runs the files of `migrations/` that are new, in the order of their names. */
export async function runMigrations(db: Db): Promise<void> {
  await db.query('CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)');
  const seen = (await db.query<{ name: string }>('SELECT name FROM migrations')).map(({ name }) => name);
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql') && !seen.includes(name));
  for (const name of names.toSorted()) {
    const script = await readFile(new URL(name, FOLDER), 'utf8');
    for (const statement of splitStatements(script)) await db.query(statement);
    await db.query('INSERT INTO migrations (name) VALUES ($1)', [name]);
  }
}
