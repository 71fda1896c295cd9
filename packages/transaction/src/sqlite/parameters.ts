import { TransactionError } from '../core/errors.js';
import { SQLITE, tokensOf } from '../sql/lexer.js';

export type SqliteValue = bigint | number | string | Uint8Array | null;

const INT64 = 2n ** 63n;

/** Replaces `$n` by `?n`: SQLite would bind `$2` before `$1` when it comes first in the text. */
export function numberedParameters(sql: string): { text: string; count: number } {
  let text = '';
  let count = 0;
  for (const token of tokensOf(sql, SQLITE)) {
    const isNumbered = token.kind === 'parameter' && token.text.startsWith('$');
    text += isNumbered ? token.text.replace('$', '?') : token.text;
    if (isNumbered) count = Math.max(count, Number(token.text.slice(1)));
  }
  return { text, count };
}

/** The values in types that libsql can bind: a boolean aborts the process, and text is cut at a NUL. */
export function sqliteValues(params: readonly unknown[], count: number): SqliteValue[] {
  if (params.length !== count) {
    const found = `${params.length} parameters were passed`;
    throw new TransactionError('AMBIT_TX_PARAMETER', `The statement has ${count} parameters and ${found}`, {
      sqlState: '08P01',
    });
  }
  return params.map((value, index) => sqliteValue(value, index + 1));
}

function sqliteValue(value: unknown, position: number): SqliteValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') {
    if (value.includes('\0')) throw refused(position, 'has a NUL character', '22021');
    return value;
  }
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') {
    if (Number.isNaN(value)) throw refused(position, 'is not a number', '22003');
    // libsql stores a JavaScript number as REAL, and a bigint as INTEGER.
    return Number.isSafeInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === 'bigint') {
    if (value < -INT64 || value >= INT64) throw refused(position, 'needs more than 64 bits', '22003');
    return value;
  }
  if (value instanceof Uint8Array) return value;
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw refused(position, `is ${describe(value)}; convert it to text first`, '42804');
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  return value instanceof Date ? 'an invalid date' : `of type ${typeof value}`;
}

function refused(position: number, why: string, sqlState: string): TransactionError {
  return new TransactionError('AMBIT_TX_PARAMETER', `Parameter $${position} ${why}`, { sqlState });
}
