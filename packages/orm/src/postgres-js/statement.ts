import { arrayText, ELEMENTS, NAMES } from '../postgres-types.js';
import type { PostgresJs, Query, ValueHelper } from './library.js';

/** A statement as it is sent. */
export interface Statement {
  readonly text: string;
  /** Undefined where the statement takes none. */
  readonly values: readonly unknown[] | undefined;
  /** What was given, and the numbers of the types, for errors. */
  readonly parameters: readonly unknown[];
  readonly types: readonly number[];
}

/** These are sent as they are: every driver sends them alike. */
const AS_THEY_ARE: ReadonlySet<string> = new Set(['bool', 'bytea', 'int8']);
const NOT_KNOWN = 0;
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802]);

/**
 * The numbers of the parameters' types. postgres.js makes a placeholder of what `push()` returns. It would announce the types to the
 * server; here the placeholder is cast to its type, which says the same.
 */
class ParameterTypes {
  readonly numbers: number[] = [];

  push(number: number): string {
    this.numbers.push(number);
    const name = NAMES.get(number);
    const place = String(this.numbers.length);
    if (name === undefined) return place;
    // As text it is no JSON of a JSON, and no array of a driver's own.
    return AS_THEY_ARE.has(name) ? `${place}::${name}` : `${place}::text::${name}`;
  }
}

/** The text and the values of a query, which the helpers of postgres.js (3.4.9) write themselves. */
export function statementOf(sql: PostgresJs, query: Query): Statement {
  const types = new ParameterTypes();
  const parameters: unknown[] = [];
  const [first = ''] = query.strings;
  const text = query.tagged ? textOf(first, query) : first;
  if (!query.tagged) for (const value of query.args) placeOf(value);
  const values = parameters.map((value, index) => sent(value, types.numbers[index] ?? 0, sql.options, query.tagged));
  return { text, values: query.options.simple ? undefined : values, parameters, types: types.numbers };

  function textOf(start: string, { strings, args }: Query): string {
    return strings.slice(1).reduce((before, after, index) => before + partOf(args[index], before) + after, start);
  }

  /** A helper looks at the keyword before it; a fragment begins a text of its own. */
  function partOf(value: unknown, before: string): string {
    if (value instanceof (sql({}).constructor as new () => ValueHelper)) {
      return String(value.build(before, parameters, types, sql.options));
    }
    return placeOf(value);
  }

  /** As the one value of a VALUES, in parentheses. */
  function placeOf(value: unknown): string {
    return String((sql([[value]]) as ValueHelper).build('values ', parameters, types, sql.options)).slice(1, -1);
  }
}

/** As postgres.js serializes it, where the type is known; the server knows the others, and drivers send them alike. */
function sent(value: unknown, type: number, { serializers }: PostgresJs['options'], isCast: boolean): unknown {
  if (value === null || value === undefined) return null;
  if (type === NOT_KNOWN) return value;
  const element = ELEMENTS.get(type);
  if (element !== undefined && Array.isArray(value)) {
    return arrayText(value, (item) => String(serializers[element]?.(itemOf(item)) ?? itemOf(item)), type);
  }
  if (AS_THEY_ARE.has(NAMES.get(type) ?? '') || !serializers[type]) return value;
  // A driver that knows the type of the column would make a JSON of the text.
  if (!isCast && JSON_TYPES.has(type) && typeof value === 'object' && !Array.isArray(value)) return value;
  return serializers[type](value);
}

/** An element of an array may be one of `sql.typed()`. */
function itemOf(item: unknown): unknown {
  const { type, value } = Object(item) as { type?: unknown; value?: unknown };
  return type === undefined ? item : value;
}
