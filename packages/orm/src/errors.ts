import type { TransactionError } from '@ambit/transaction';
import { codeOf, withCallersStack } from '@ambit/transaction/extension';

/** What a host and `isRetryable()` read of an error. */
type Outcome = Pick<TransactionError, 'sqlState' | 'retryable' | 'unavailable' | 'status' | 'statusCode' | 'headers'>;

/**
 * What a query builder rejects with. Where the database refused the statement, `code`, `constraint` and the other fields are
 * those of the driver, because its users test them. The message remains ours: hosts send it to clients.
 */
export function queryErrorOf(error: unknown, query: string): unknown {
  if (!isRefused(error)) return withCallersStack(error);
  const { message, cause } = error;
  // A driver may have an enumerable message.
  return Object.assign(new Error(message, { cause: error }), Object(cause), outcomeOf(error), { message, query });
}

/** For ORMs that make errors of their own from that of the driver: they read its code, its constraint and its message. */
export function driverErrorOf(error: unknown): unknown {
  return isRefused(error) ? withOutcomeOf(error, error.cause ?? error) : error;
}

/** An error in which a library has wrapped one of ours gets the same status, so that a host responds with 503 where ours says so. */
export function withOutcomeOf(ours: unknown, wrapper: unknown): unknown {
  if (!Object.isExtensible(wrapper) || isOurs(wrapper)) return wrapper;
  return Object.assign(wrapper as object, outcomeOf(ours));
}

/** The fields of PostgreSQL's refusal of a statement: the name in `pg`, and in postgres.js where that has another. */
const FIELDS: readonly (readonly [pg: string, postgresJs?: string])[] = [
  ['message'],
  ['severity'],
  ['code'],
  ['detail'],
  ['hint'],
  ['position'],
  ['internalPosition', 'internal_position'],
  ['internalQuery', 'internal_query'],
  ['where'],
  ['schema', 'schema_name'],
  ['table', 'table_name'],
  ['column', 'column_name'],
  ['dataType', 'data type_name'],
  ['constraint', 'constraint_name'],
  ['file'],
  ['line'],
  ['routine'],
];

/**
 * The refusal of the database, by the names of `pg` for each driver, with the outcome and the cause; undefined for an error of
 * another kind.
 */
export function refusalOf(error: unknown): { readonly message?: string; readonly cause: unknown } | undefined {
  if (!isRefused(error)) return undefined;
  const said = Object(error.cause) as Readonly<Record<string, string | undefined>>;
  const known = FIELDS.map(([pg, postgresJs = pg]) => [pg, said[pg] ?? said[postgresJs]] as const);
  return {
    ...Object.fromEntries(known.filter(([, value]) => value !== undefined)),
    ...outcomeOf(error),
    cause: error,
  };
}

function isRefused(error: unknown): error is TransactionError {
  return codeOf(error) === 'AMBIT_TX_STATEMENT_FAILED';
}

function isOurs(error: unknown): error is TransactionError {
  return codeOf(error).startsWith('AMBIT_TX_');
}

function outcomeOf(error: unknown): Partial<Outcome & { readonly expose: false }> {
  const { sqlState, retryable, unavailable, status, statusCode, headers } = Object(error) as Outcome;
  // Query builders name the statement and its values: "http-errors" and Nest send no message of an error that is not to be exposed.
  const expose = false;
  return retryable === undefined ? {} : { sqlState, retryable, unavailable, status, statusCode, headers, expose };
}
