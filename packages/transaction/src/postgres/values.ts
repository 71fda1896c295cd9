import { types } from 'node:util';
import { isTransactionError } from '../errors.js';
import { bytesOf, dateValue, jsonText, refusedType, refusedValue, textValue } from '../sql/values.js';

/** Every driver of PostgreSQL sends these alike, where the server is left to find the type. */
export type PostgresValue = string | Uint8Array | Date | null;

/** The interface of the `pg` driver for values such as `PostgresInterval`. */
interface MayConvertItself {
  readonly toPostgres?: (convert: (value: unknown) => unknown) => unknown;
}

/** Empty for array columns; JSON has no form feed, so that a column of JSON does not take it for the object `{}`. */
const EMPTY_ARRAY = '{\f}';

/**
 * A value in the text that PostgreSQL reads. Drivers write arrays, objects and booleans in different ways, and some look at no more
 * than the first element; so all of them get the text.
 */
export function postgresValue(value: unknown, position: number): PostgresValue {
  switch (typeof value) {
    case 'string':
      return textValue(value, position);
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'undefined':
      return null;
    case 'object':
      return value === null ? null : ofObject(value, position);
    case 'symbol':
    case 'function':
      break;
  }
  throw refusedType(value, position);
}

function ofObject(value: object, position: number): PostgresValue {
  // Dates are left to the driver: `pg` has a setting for them.
  if (types.isDate(value)) return dateValue(value, position);
  if (Array.isArray(value)) return arrayText(value, position);
  const { toPostgres } = value as MayConvertItself;
  if (typeof toPostgres !== 'function') return bytesOf(value) ?? jsonText(value, position);
  const convert = (inner: unknown): PostgresValue => postgresValue(inner, position);
  try {
    return convert(toPostgres.call(value, convert));
  } catch (error) {
    throw isTransactionError(error)
      ? error
      : refusedValue(position, 'cannot be converted by toPostgres()', '22023', error);
  }
}

function arrayText(items: readonly unknown[], position: number): string {
  if (items.length === 0) return EMPTY_ARRAY;
  return `{${Array.from(items, (item) => elementText(item, position)).join()}}`;
}

function elementText(item: unknown, position: number): string {
  if (Array.isArray(item)) {
    // PostgreSQL itself makes `{}` of `{{},{}}`.
    if (item.length === 0) throw refusedValue(position, 'has an empty array within an array', '2202E');
    return arrayText(item, position);
  }
  const value = postgresValue(item, position);
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  return value instanceof Date ? `"${dateText(value)}"` : `"\\\\x${Buffer.from(value).toString('hex')}"`;
}

/**
 * In local time with its offset, as `pg` writes it: a `timestamptz` keeps the moment, a `timestamp` the local time, which is how the
 * drivers read it.
 *
 * @param date - a valid date
 * @returns such as `2024-02-29T07:00:00.000-05:00`
 */
export function dateText(date: Date): string {
  const local = new Date(0);
  local.setUTCFullYear(date.getFullYear(), date.getMonth(), date.getDate());
  local.setUTCHours(date.getHours(), date.getMinutes(), date.getSeconds(), date.getMilliseconds());
  const offset = (local.getTime() - date.getTime()) / 1000;
  // Zones had offsets with seconds before there was a standard time.
  const hms = new Date(Math.abs(offset) * 1000).toISOString().slice(11, offset % 60 === 0 ? 16 : 19);
  return `${local.toISOString().slice(0, -1)}${offset < 0 ? '-' : '+'}${hms}`;
}
