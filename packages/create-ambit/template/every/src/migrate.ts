import { readdir, readFile } from 'node:fs/promises';
import { type IDatabasePool, splitStatements } from '@ambit/transaction';
import { readConfig } from './config.ts';
import { createPool, LOCK } from './database.ts';

const FOLDER = new URL('../migrations/', import.meta.url);

/** Runs the files of `migrations/` that the database has not seen yet, in the order of their names: all of them, or none. */
export async function migrate(pool: IDatabasePool): Promise<void> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted();
  const scripts = await Promise.all(names.map((name) => readFile(new URL(name, FOLDER), 'utf8')));
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    await connection.query(LOCK);
    await connection.query('CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)');
    const seen = (await connection.query<{ name: string }>('SELECT name FROM migrations')).map(({ name }) => name);
    for (const [i, name] of names.entries()) {
      if (seen.includes(name)) continue;
      for (const statement of splitStatements(scripts[i] ?? '')) await connection.query(statement);
      await connection.query('INSERT INTO migrations (name) VALUES ($1)', [name]);
    }
    await connection.commit();
  } finally {
    connection.release(); // rolls back what is not committed
  }
}

if (process.argv[1] === import.meta.filename) {
  const pool = createPool(readConfig(process.env));
  await migrate(pool).finally(() => pool.close());
}
