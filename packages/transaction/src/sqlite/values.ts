import { types } from 'node:util';
import { bytesOf, dateValue, refusedType, refusedValue, textValue } from '../sql/values.js';

const INT64 = 2n ** 63n;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** The value in a type that every driver binds, and binds in the same way. */
export function sqliteValue(value: unknown, position: number): bigint | number | string | Uint8Array | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return textValue(value, position);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') {
    if (Number.isNaN(value)) throw refusedValue(position, 'is not a number', '22003');
    // A JavaScript number is stored as REAL, and a bigint as INTEGER.
    return Number.isSafeInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === 'bigint') {
    if (value < -INT64 || value >= INT64) throw refusedValue(position, 'needs more than 64 bits', '22003');
    return value;
  }
  if (types.isDate(value)) return dateValue(value, position).toISOString();
  const bytes = typeof value === 'object' ? bytesOf(value) : undefined;
  if (!bytes) throw refusedType(value, position);
  return bytes;
}

/** The rows as objects with these names, or, without names, as arrays. */
export function rowsOf(rows: unknown[][], names: readonly string[] | undefined): unknown[] {
  return rows.map((row) => (names ? asObject(row, names) : row.map(valueOf)));
}

function asObject(row: readonly unknown[], names: readonly string[]): object {
  const cells: Record<string, unknown> = {};
  for (let index = 0; index < names.length; index += 1) cells[names[index] as string] = valueOf(row[index]);
  return cells;
}

/**
 * Bytes become a Buffer, as with every other database. Integers come as bigints, because as numbers they would be rounded: those beyond
 * the safe range become text, which is what PostgreSQL gives for any bigint.
 */
function valueOf(value: unknown): unknown {
  if (typeof value === 'bigint') return value > MAX_SAFE || value < -MAX_SAFE ? String(value) : Number(value);
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value;
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
