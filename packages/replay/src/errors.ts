import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TransactionError, type TransactionErrorCode } from '@ambit/transaction';
import { packed, unpacked } from './data.js';
import type { Failure } from './recording.js';

const CALL = /^\s*at (?:.*? \()?(?:async )?(file:\/\/.+?|\/.+?|[A-Za-z]:[\\/].+?)(?:\?[^:]*)?:(\d+):\d+\)?$/;
/** The code of dependencies, and of these packages in a checkout of them. */
const NOT_OF_APPLICATION = /[\\/]node_modules[\\/]|[\\/]packages[\\/](?!create-ambit)[^\\/]+[\\/](?:src|dist)[\\/]/;

/** The nearest line of the application in a stack: `src/orders.ts:44`. */
export function lineOf(stack: string): string | undefined {
  for (const line of stack.split('\n')) {
    const [, location, row] = CALL.exec(line) ?? [];
    if (location === undefined || NOT_OF_APPLICATION.test(location)) continue;
    const path = location.startsWith('file:') ? fileURLToPath(location) : location;
    const below = relative(process.cwd(), path);
    return `${below.startsWith('..') ? path : below.split(sep).join('/')}:${row}`;
  }
  return undefined;
}

export function failureOf(error: unknown): Failure {
  const { name, message, code, stack } = Object(error) as Record<string, unknown>;
  const line = typeof stack === 'string' ? lineOf(stack) : undefined;
  return {
    name: typeof name === 'string' ? name : typeof error,
    message: typeof message === 'string' ? message : String(error),
    ...(typeof code === 'string' && { code }),
    ...(line !== undefined && { line }),
  };
}

/** The error of a driver, or of ours, as JSON: what a `Language` translates is kept. */
export function packedError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { thrown: packed(error) };
  const { name, message, cause } = error;
  const own = Object.entries(error).filter(([key, value]) => key !== 'cause' && typeof value !== 'object');
  const isOurs = error instanceof TransactionError;
  return {
    name,
    message,
    ...(isOurs && { isOurs }),
    own: packed(Object.fromEntries(own)),
    ...(cause !== undefined && depth < 5 && { cause: packedError(cause, depth + 1) }),
  };
}

interface PackedError {
  readonly thrown?: unknown;
  readonly name: string;
  readonly message: string;
  readonly isOurs?: true;
  readonly own: unknown;
  readonly cause?: unknown;
}

export function unpackedError(data: unknown): unknown {
  const { thrown, name, message, isOurs, own, cause } = data as PackedError;
  if (thrown !== undefined) return unpacked(thrown);
  const fields = unpacked(own) as Readonly<Record<string, unknown>>;
  const behind = cause === undefined ? {} : { cause: unpackedError(cause) };
  if (!isOurs) {
    const error = Object.assign(new Error(message, behind), fields);
    return Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  }
  const { code, sqlState } = fields as { code: TransactionErrorCode; sqlState?: string };
  const error = new TransactionError(code, '', { ...behind, ...(sqlState !== undefined && { sqlState }) });
  return Object.defineProperty(error, 'message', { value: message });
}
