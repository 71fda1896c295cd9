import { types } from 'node:util';

const DEEPEST = 30;

/** A copy that later changes of the value do not reach. Cheaper than JSON, which only a request that is kept needs. */
export function copyOf(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (types.isDate(value)) return new Date(value);
  if (ArrayBuffer.isView(value)) return Buffer.isBuffer(value) ? Buffer.from(value) : structuredClone(value);
  if (depth > DEEPEST) return null;
  if (Array.isArray(value)) return value.map((one) => copyOf(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, copyOf(one, depth + 1)]));
}

/** Puts copies of objects in their places, and returns about how much memory all values take. Most are texts and numbers. */
export function ownCopies(values: unknown[]): number {
  let size = 0;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (typeof value === 'string') size += 2 + value.length;
    else if (typeof value !== 'object' || value === null) size += 8;
    else size += sizeOf((values[i] = copyOf(value)));
  }
  return size;
}

/** A value in JSON, which has no dates, bytes and large integers: each is an object with one key that begins with `$`. */
export function packed(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'bigint':
      return { $bigint: String(value) };
    case 'number':
      if (Object.is(value, -0)) return { $number: '-0' };
      return Number.isFinite(value) ? value : { $number: String(value) };
    case 'object':
      return value === null || depth > DEEPEST ? null : packedObject(value, depth + 1);
    case 'undefined':
    case 'function':
    case 'symbol':
      return { $undefined: true };
    case 'boolean':
    case 'string':
      break;
  }
  return value;
}

function packedObject(value: object, depth: number): unknown {
  if (types.isDate(value)) return { $date: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
    return { $bytes: bytes, as: value.constructor.name };
  }
  if (Array.isArray(value)) return value.map((one) => packed(one, depth));
  const entries = Object.entries(value).map(([key, one]): [string, unknown] => [key, packed(one, depth)]);
  return entries[0]?.[0].startsWith('$') ? { $entries: entries } : Object.fromEntries(entries);
}

/** The value that was packed. */
export function unpacked(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return data;
  if (Array.isArray(data)) return data.map(unpacked);
  const object = data as Readonly<Record<string, unknown>>;
  if (typeof object['$bigint'] === 'string') return BigInt(object['$bigint']);
  if ('$number' in object) return Number(object['$number']);
  if ('$undefined' in object) return undefined;
  if ('$date' in object) return new Date(typeof object['$date'] === 'string' ? object['$date'] : Number.NaN);
  if (typeof object['$bytes'] === 'string') {
    const bytes = Buffer.from(object['$bytes'], 'base64');
    return object['as'] === 'Buffer' ? bytes : new Uint8Array(bytes);
  }
  const entries = (object['$entries'] ?? Object.entries(object)) as [string, unknown][];
  return Object.fromEntries(entries.map(([key, one]) => [key, unpacked(one)]));
}

/** About how much memory a value takes. */
export function sizeOf(value: unknown, depth = 0): number {
  if (typeof value === 'string') return 2 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return 16 + value.byteLength * 1.4;
  if (types.isDate(value)) return 40;
  if (depth > DEEPEST) return 8;
  let size = 8;
  if (Array.isArray(value)) for (const one of value) size += sizeOf(one, depth + 1);
  else for (const key in value) size += key.length + 4 + sizeOf(value[key as never], depth + 1);
  return size;
}

/** Bytes as JSON has them: as text where they are text. */
export interface Bytes {
  readonly text?: string;
  readonly base64?: string;
}

export function packedBytes(chunks: readonly Uint8Array[]): Bytes {
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? { text } : { base64: bytes.toString('base64') };
}

export function unpackedBytes({ text, base64 = '' }: Bytes): Buffer {
  return text === undefined ? Buffer.from(base64, 'base64') : Buffer.from(text, 'utf8');
}

/** The value of a text in JSON; undefined where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export const pairsOf = (headers: Readonly<Record<string, unknown>>): [string, string][] =>
  Object.entries(headers).map(([name, value]) => [name, String(value)]);
