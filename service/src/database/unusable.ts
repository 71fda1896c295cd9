import { setTimeout as pause } from 'node:timers/promises';
import { isTemporary, sqlStateOf } from '@ambit/transaction';
import { codeOf } from '@ambit/transaction/extension';
import { ExplainedError } from '../problem.js';
import type { IEngine } from './engine.js';

/** Refused by the server or by SQLite: the user, its rights, the database, what is in it, the file, the disk. */
const REFUSED = /^(?:25006|28|3[DF]|42|53[01]00|55P03|58030|XX001)/;
/** SQLite has no codes for these. */
const FOREIGN = /\balready exists$|^no such column\b|\bhas no column named\b/;
/** The end of Node's message where it cannot create the folder of SQLite. */
const NO_FOLDER = /, mkdir '/;
const FAULTS: ReadonlySet<unknown> = new Set([
  'AMBIT_TX_ACQUIRE_FAILED',
  'AMBIT_TX_ACQUIRE_TIMEOUT',
  'AMBIT_TX_CONNECTION_LOST',
]);

/** Explains an error of the first statements, or of opening the database. Other errors, for a developer, are returned as they are. */
export function explained(error: unknown, { place, advice }: IEngine): unknown {
  const [state = '', reason] = [sqlStateOf(error), reasonOf(error)];
  if (!REFUSED.test(state) && !FOREIGN.test(reason) && !FAULTS.has(codeOf(error)) && !NO_FOLDER.test(reason))
    return error;
  const what = `The database cannot be used: ${reason}${state && ` (${state})`}. It is ${place}`;
  return new ExplainedError(`${what}. ${advice}.`, 1, { cause: error });
}

/** True where a table or a column is missing. */
export const isAbsence = (error: unknown): boolean =>
  /^42(?:P01|703|S02|S22)$/.test(sqlStateOf(error) ?? '') || /^no such (?:table|column)\b/.test(reasonOf(error));

/** The message of the innermost cause: what the driver or the system reported. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(reasonOf))].join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

const FIRST_PAUSE_MS = 250;
const LAST_PAUSE_MS = 1000;

/** Called before each pause between two attempts. */
export type OnRetry = (error: unknown) => void;

/** Retries while the database is not available, for example because it is starting. */
export async function whenAvailable(work: () => Promise<void>, waitMs: number, onRetry: OnRetry): Promise<void> {
  const deadline = Date.now() + waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isTemporary(error) || Date.now() + pauseMs > deadline) throw error;
      onRetry(error);
      await pause(pauseMs);
    }
  }
}
