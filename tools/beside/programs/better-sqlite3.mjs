import { fromBetterSqlite3 } from '@ambit/drivers/better-sqlite3';
import Database from 'better-sqlite3';
import { prove, TABLE } from './transactions.mjs';

const pool = fromBetterSqlite3(new Database(':memory:', { timeout: 0 }));
await prove(pool, (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]));
