import { setTimeout as pause } from 'node:timers/promises';
import { isTemporary } from '@ambit/transaction';
import { ExplainedError } from '../problem.js';
import type { IEngine } from './engine.js';

/** The driver's message, or its code, when the server does not support TLS. */
const NO_TLS = 'The server does not support SSL connections';
const NO_TLS_CODE = 'HANDSHAKE_NO_SSL_SUPPORT';
/** Node's codes for certificates and keys that are refused or invalid. */
const REFUSED = /^(?:CERT_|(?:DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_|ERR_(?:TLS_CERT|OSSL_))/;

/** Whether a TLS setting of `DATABASE_URL` has to be corrected; of several hosts, for each of them. */
function isTlsFault(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isTlsFault);
  if (!(error instanceof Error)) return false;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  // A certificate file cannot be opened, or is a folder. Sockets are never opened: their calls are `connect` and `read`.
  const isFileFault = syscall === 'open' || code === 'EISDIR';
  return (
    error.message === NO_TLS || code === NO_TLS_CODE || isFileFault || REFUSED.test(code) || isTlsFault(error.cause)
  );
}

export const FOREIGN_DATABASE = 'This seems to be the database of another program. Let';

/** Explains an error of the first statements, or of opening the database. Other errors are returned as they are. */
export function explained(error: unknown, engine: IEngine): unknown {
  const message = engine.explain(error);
  return message === undefined ? error : new ExplainedError(message, 1, { cause: error });
}

/** Why a server cannot be used. `advice` is what to do, by the code of its error. */
export function explainServer(
  error: unknown,
  { name, tls }: { readonly name: string; readonly tls: string },
  code: string | number,
  advice: Readonly<Record<string | number, string>>,
): string | undefined {
  const refused = advice[code];
  if (refused !== undefined) return `${name} cannot be used: ${reasonOf(error)} (${code}). ${refused}.`;
  if (!isConnectionFault(error)) return undefined;
  const correction = isTlsFault(error)
    ? `Correct ${tls} in DATABASE_URL, or the certificates`
    : 'Check that it runs, and the host and the port in DATABASE_URL';
  return `${name} cannot be reached: ${reasonOf(error)}. ${correction}.`;
}

/** The message of the innermost cause: what the driver or the system reported. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(reasonOf))].join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}

export function isConnectionFault(error: unknown): boolean {
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
