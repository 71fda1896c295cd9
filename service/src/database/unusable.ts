import { sqlStateOf } from '@ambit/transaction';
import type { DatabaseConfig } from '../config/config.js';
import { isTlsFault } from './tls-fault.js';

/** The database cannot be used; the message says in one line why, and what to do. */
export class DatabaseUnusableError extends Error {
  override readonly name = 'DatabaseUnusableError';
  readonly exitCode = 1;
}

const FOREIGN_DATABASE = 'This seems to be the database of another program. Let';
type Advice = Readonly<Record<string, string>>;

const POSTGRES: Advice = {
  '28000': 'Correct the user in DATABASE_URL, or allow it in pg_hba.conf',
  '28P01': 'Correct the user and the password in DATABASE_URL',
  '3D000': 'Create the database, or correct its name in DATABASE_URL',
  '3F000': 'Create the schema, or correct the search_path of the user',
  '42501': 'Give the user of DATABASE_URL the right to create tables',
  '42703': `${FOREIGN_DATABASE} DATABASE_URL name a database that only the service uses`,
  '42P07': `${FOREIGN_DATABASE} DATABASE_URL name a database that only the service uses`,
  '25006': 'Let DATABASE_URL lead to the primary, or look at default_transaction_read_only',
};
const SQLITE: Advice = {
  XX001: 'It is damaged, or not a database of SQLite. Restore a backup, or let DATA_DIR name another folder',
  '25006': 'Let the user of the service write to the file and to its folder',
  '58030': 'Let the user of the service read and write the file and its folder',
  '53000': 'Look at the free space and at the limits of the process',
  '53100': 'Make space on the disk',
  '55P03': 'Another program has the file to itself: stop that program',
};

/** SQLite has no codes for these. */
const FOREIGN = /\balready exists$|^no such column\b|\bhas no column named\b/;

/** Explains an error of the first statements, or of opening the database. Other errors are returned as they are. */
export function unusable(error: unknown, database: DatabaseConfig): unknown {
  const state = sqlStateOf(error) ?? '';
  const reason = reasonOf(error);
  if (database.kind === 'sqlite') {
    const advice =
      SQLITE[state] ??
      (isConnectionFault(error) ? SQLITE['58030'] : undefined) ??
      (FOREIGN.test(reason) ? `${FOREIGN_DATABASE} DATA_DIR name another folder` : undefined);
    if (advice === undefined) return error;
    const what = `The file ambit.db in ${database.folder} cannot be used: ${reason} (${state})`;
    return new DatabaseUnusableError(`${what}. ${advice}.`, { cause: error });
  }
  const refused = POSTGRES[state];
  if (refused !== undefined)
    return new DatabaseUnusableError(`PostgreSQL cannot be used: ${reason} (${state}). ${refused}.`, { cause: error });
  if (!isConnectionFault(error)) return error;
  const advice = isTlsFault(error)
    ? 'Correct sslmode, sslrootcert, sslcert and sslkey in DATABASE_URL, or the certificates'
    : 'Check that it runs, and the host and the port in DATABASE_URL';
  return new DatabaseUnusableError(`PostgreSQL cannot be reached: ${reason}. ${advice}.`, { cause: error });
}

/** The message of the innermost cause: what the driver or the system reported. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(reasonOf))].join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

function isConnectionFault(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return (
    code === 'AMBIT_TX_ACQUIRE_FAILED' || code === 'AMBIT_TX_ACQUIRE_TIMEOUT' || code === 'AMBIT_TX_CONNECTION_LOST'
  );
}
