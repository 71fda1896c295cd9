import { TransactionError } from '../core/errors.js';

export type SqliteValue = bigint | number | string | Uint8Array | null;

const INT64 = 2n ** 63n;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** The value in a type that every driver binds, and binds in the same way. */
export function sqliteValue(value: unknown, position: number): SqliteValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') {
    if (value.includes('\0')) throw refused(position, 'has a NUL character', '22021');
    return value;
  }
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') {
    if (Number.isNaN(value)) throw refused(position, 'is not a number', '22003');
    // A JavaScript number is stored as REAL, and a bigint as INTEGER.
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

/**
 * Bytes become a Buffer, as with every other database. Integers come as bigints, because as numbers they would be rounded: those beyond
 * the safe range become text, which is what PostgreSQL gives for any bigint.
 */
export function valueOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value > MAX_SAFE || value < -MAX_SAFE ? String(value) : Number(value);
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  return value instanceof Date ? 'an invalid date' : `of type ${typeof value}`;
}

function refused(position: number, why: string, sqlState: string): TransactionError {
  return new TransactionError('AMBIT_TX_PARAMETER', `Parameter $${position} ${why}`, { sqlState });
}
