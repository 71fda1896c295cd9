import type { TransactionError } from '@ambit/transaction';
import { codeOf, withCallersStack } from '@ambit/transaction/extension';

/** What a host and `isRetryable()` read of an error. */
type Outcome = Pick<TransactionError, 'sqlState' | 'retryable' | 'unavailable' | 'status' | 'statusCode'>;

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

/** What PostgreSQL says of a statement that it refused, by the names of `pg`, and the names of postgres.js. */
const FIELDS = {
  message: 'message',
  severity: 'severity',
  code: 'code',
  detail: 'detail',
  hint: 'hint',
  position: 'position',
  internalPosition: 'internal_position',
  internalQuery: 'internal_query',
  where: 'where',
  schema: 'schema_name',
  table: 'table_name',
  column: 'column_name',
  dataType: 'data type_name',
  constraint: 'constraint_name',
  file: 'file',
  line: 'line',
  routine: 'routine',
} as const;

type FieldNames = typeof FIELDS;

/** For clients that make an error of their library from what the database said. The outcome and the cause are part of the fields. */
export interface Refusal {
  readonly pg: Readonly<Partial<Record<keyof FieldNames, string>>>;
  readonly postgresJs: Readonly<Partial<Record<FieldNames[keyof FieldNames], string>>>;
  readonly outcome: Partial<Outcome> & { readonly cause: unknown };
}

/** What the database said, whichever driver reported it; undefined for an error of another kind. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!isRefused(error)) return undefined;
  const said = Object(error.cause) as Readonly<Record<string, string | undefined>>;
  const values = Object.entries(FIELDS).map(
    ([pg, postgresJs]) => [pg, postgresJs, said[pg] ?? said[postgresJs]] as const,
  );
  const known = values.filter(([, , value]) => value !== undefined);
  return {
    pg: Object.fromEntries(known.map(([pg, , value]) => [pg, value])),
    postgresJs: Object.fromEntries(known.map(([, postgresJs, value]) => [postgresJs, value])),
    outcome: { ...outcomeOf(error), cause: error },
  };
}

/** An error with the place of the application where its query was written: libraries lose it on the way. */
export function withStackOf(written: { readonly stack: string }, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const value = `${error.name}: ${error.message}\n${written.stack.replace(/^.*\n/, '')}`;
  return Object.defineProperty(error, 'stack', { value, configurable: true, writable: true });
}

function isRefused(error: unknown): error is TransactionError {
  return codeOf(error) === 'AMBIT_TX_STATEMENT_FAILED';
}

function isOurs(error: unknown): error is TransactionError {
  return codeOf(error).startsWith('AMBIT_TX_');
}

function outcomeOf(error: unknown): Partial<Outcome> {
  const { sqlState, retryable, unavailable, status, statusCode } = Object(error) as Outcome;
  return retryable === undefined ? {} : { sqlState, retryable, unavailable, status, statusCode };
}
