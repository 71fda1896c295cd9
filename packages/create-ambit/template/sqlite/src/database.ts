import type { IDatabasePool } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { Config } from './config.ts';

/** In development it reports, with the line, what a rollback does not undo, statements that repeat, and more. */
const check = transactionCheck({ enabled: process.env['NODE_ENV'] === 'development' });

export const createPool = ({ databaseFile }: Config): IDatabasePool =>
  check.pool(createSqlitePool({ path: databaseFile }));

/** Migrations need no lock: SQLite has one writer at a time. */
export const LOCK = 'SELECT 1';
