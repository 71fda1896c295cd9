import type { IDatabasePool } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool } from '@ambit/transaction/postgres';
import type { Config } from './config.ts';

/** In development it reports, with the line, what a rollback does not undo, statements that repeat, and more. */
const check = transactionCheck({ enabled: process.env['NODE_ENV'] === 'development' });

export const createPool = ({ databaseUrl }: Config): IDatabasePool =>
  check.pool(createPostgresPool({ connectionString: databaseUrl }));

/** Two instances may migrate at the same time: the second waits for the first. */
export const LOCK = 'SELECT pg_advisory_xact_lock(1)';
