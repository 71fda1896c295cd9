import { setTimeout as pause } from 'node:timers/promises';
import { isTemporary, sqlStateOf } from '@ambit/transaction';
import type { DatabaseConfig } from '../config/config.js';
import { ExplainedError } from '../problem.js';

/** The driver's message when the server does not support TLS. */
const NO_TLS = 'The server does not support SSL connections';
/** Node's codes for certificates and keys that are refused or invalid. */
const REFUSED = /^(?:CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_|ERR_(?:TLS_CERT|OSSL_))/;

/** Whether a TLS setting of `DATABASE_URL` has to be corrected; of several hosts, for each of them. */
function isTlsFault(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isTlsFault);
  if (!(error instanceof Error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  // A certificate file cannot be opened, or is a folder. Sockets are never opened: their calls are `connect` and `read`.
  const isFileFault = syscall === 'open' || code === 'EISDIR';
  return error.message === NO_TLS || isFileFault || REFUSED.test(code) || isTlsFault(error.cause);
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
    return new ExplainedError(`${what}. ${advice}.`, 1, { cause: error });
  }
  const refused = POSTGRES[state];
  if (refused !== undefined)
    return new ExplainedError(`PostgreSQL cannot be used: ${reason} (${state}). ${refused}.`, 1, { cause: error });
  if (!isConnectionFault(error)) return error;
  const advice = isTlsFault(error)
    ? 'Correct sslmode, sslrootcert, sslcert and sslkey in DATABASE_URL, or the certificates'
    : 'Check that it runs, and the host and the port in DATABASE_URL';
  return new ExplainedError(`PostgreSQL cannot be reached: ${reason}. ${advice}.`, 1, { cause: error });
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

const FIRST_PAUSE_MS = 250;
const LAST_PAUSE_MS = 1000;

/** Called before each pause between two attempts. */
export type OnRetry = (error: unknown, pauseMs: number) => void;

/** Retries while the database is not available, for example because it is starting. */
export async function whenAvailable(work: () => Promise<void>, waitMs: number, onRetry: OnRetry): Promise<void> {
  const deadline = Date.now() + waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error) || isTlsFault(error) || Date.now() + pauseMs > deadline) throw error;
      onRetry(error, pauseMs);
      await pause(pauseMs);
    }
  }
}
