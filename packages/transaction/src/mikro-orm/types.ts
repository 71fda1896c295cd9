import type { ExecuteOptions } from '../core/contract.js';
import type { KyselyDialect } from '../kysely/dialects.js';

/** PostgreSQL's numbers for date, timestamp, timestamptz and interval, and for arrays of them. */
const TIMES: ReadonlySet<number> = new Set([1082, 1114, 1184, 1186]);
const ARRAYS_OF_TIMES: ReadonlySet<number> = new Set([1182, 1115, 1185, 1187]);
/** In such an array nothing is escaped. */
const ELEMENT = /"[^"]*"|[^,]+/g;

/** MikroORM parses dates and times itself, with the time zone that it is configured for; the driver parses the rest. */
const TIMES_AS_TEXT: Required<ExecuteOptions>['types'] = {
  getTypeParser(oid) {
    if (TIMES.has(oid)) return (text) => text;
    return ARRAYS_OF_TIMES.has(oid) ? elementsOf : undefined;
  },
};

/** What the statements of MikroORM are executed with. It writes values into their text, so that a statement is rarely sent twice. */
export const OPTIONS: Readonly<Record<KyselyDialect, ExecuteOptions>> = {
  postgres: { types: TIMES_AS_TEXT, prepare: false },
  sqlite: {},
};

function elementsOf(array: string): (string | null)[] {
  const elements = array.slice(1, -1).match(ELEMENT) ?? [];
  return elements.map((element) => (element === 'NULL' ? null : element.replaceAll('"', '')));
}
