import { types } from 'node:util';
import { TransactionError } from '../errors.js';

/** Node has it from version 20 on; the types of ES2023 do not know it. */
type Utf16 = string & { isWellFormed(): boolean };

/** JavaScript takes the year 50 in the text of a database for 1950, and databases disagree about the year 10000. */
const FIRST_DATE = Date.UTC(100, 0);
const LAST_DATE = Date.UTC(10_000, 0) - 1;

/**
 * The error for a value that the database would not keep.
 *
 * @param position - the number of its parameter
 * @param why - what is wrong with it, to be read after "Parameter $1"
 * @param sqlState - that of the database for such a value
 * @param cause - what a conversion of the value has thrown
 * @returns `AMBIT_TX_PARAMETER`
 */
export function refusedValue(position: number, why: string, sqlState: string, cause?: unknown): TransactionError {
  const options = { sqlState, ...(cause === undefined ? {} : { cause }) };
  return new TransactionError('AMBIT_TX_PARAMETER', `Parameter $${position} ${why}`, options);
}

/**
 * The values as a database takes them: the same array where none has to be changed. `convert` is not asked about text that every database
 * keeps, which most values are.
 */
export function convertAll(
  params: readonly unknown[],
  convert: (value: unknown, position: number) => unknown,
): readonly unknown[] {
  let values: unknown[] | undefined;
  for (let index = 0; index < params.length; index += 1) {
    const value = params[index];
    if (typeof value === 'string' && !value.includes('\0') && (value as Utf16).isWellFormed()) continue;
    const taken = convert(value, index + 1);
    if (taken !== value) (values ??= [...params])[index] = taken;
  }
  return values ?? params;
}

/** Refuses a text that no database keeps: with a NUL character, or with half of a surrogate pair, which would become U+FFFD. */
export function textValue(value: string, position: number): string {
  if (value.includes('\0')) throw refusedValue(position, 'has a NUL character', '22021');
  if (!(value as Utf16).isWellFormed()) throw refusedValue(position, 'has half of a surrogate pair', '22021');
  return value;
}

/** Refuses a date that is invalid, and one before the year 100 or after the year 9999. */
export function dateValue(value: Date, position: number): Date {
  const time = value.getTime();
  if (Number.isNaN(time)) throw refusedValue(position, 'is an invalid date', '22007');
  if (time < FIRST_DATE || time > LAST_DATE)
    throw refusedValue(position, 'is no date of the years 100 to 9999', '22008');
  return value;
}

/** The bytes of whatever holds bytes: a Buffer, a typed array or a DataView, of which only its own part, or an ArrayBuffer. */
export function bytesOf(value: object): Uint8Array | undefined {
  if (types.isUint8Array(value)) return value;
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return types.isAnyArrayBuffer(value) ? Buffer.from(value) : undefined;
}

/**
 * The JSON of an object. Where `toJSON()` gives text, as that of a Decimal, a URL or a Temporal does, it is that text without quotes.
 * JSON of a Map, a Promise or an Error would be `{}`, and is refused.
 */
export function jsonText(value: object, position: number): string {
  const hasJson = Array.isArray(value) || 'toJSON' in value || tagOf(value) === 'Object';
  if (!hasJson) throw refusedType(value, position);
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    throw refusedValue(position, `has no JSON: ${(error as Error).message.split('\n', 1)[0]}`, '22032', error);
  }
  if (json === undefined) throw refusedValue(position, 'has no JSON: toJSON() returned nothing', '22032');
  return json.startsWith('"') ? textValue(JSON.parse(json) as string, position) : json;
}

export function refusedType(value: unknown, position: number): TransactionError {
  const name = typeof value === 'object' ? tagOf(value) : typeof value;
  const article = /^[AEIOU]/i.test(name) ? 'an' : 'a';
  const advice = types.isPromise(value) ? 'await it first' : 'convert it to text first';
  return refusedValue(position, `is ${article} ${name}; ${advice}`, '42804');
}

/** The tag, as in `[object Map]`; it is `Object` for a class of the application. */
const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1);
