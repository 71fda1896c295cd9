import type { BeginOptions } from '../contract.js';
import { connectionLost, isTransactionError, refusedStatement, TransactionError } from '../errors.js';
import { codeOf, fieldOf, sqlStateOf } from '../sql-state.js';
import type { Language } from '../pool/driver.js';
import { firstWords } from '../sql/control-statements.js';
import { POSTGRES, tokensOf } from '../sql/lexer.js';
import { postgresValue } from './values.js';

/** The server hangs up after these. 25P03: idle in transaction for too long; 08P01 is a wrong number of parameters. */
const HANGS_UP = /^(?:08(?!P01)|57P|25P03)/;
/** PgBouncer sends it before it closes a connection, whatever the reason; PostgreSQL for a wrong number of parameters. */
const PROTOCOL_VIOLATION = '08P01';
/** These are true although the server closes the connection: it stopped, timed out, or its standby was in the way. */
const TRUE_AT_THE_END = /^(?:57P|25P03|40001)/;
/** The prepared statement no longer fits its tables, or is not known: a pooler led us to another server session. */
const STALE = new Set(['0A000', '26000']);
/** The server has prepared something under this name that we know nothing of. */
const NAME_TAKEN = '42P05';

function isFatal(error: unknown): boolean {
  const severity = fieldOf(error, 'severity');
  return severity === 'FATAL' || severity === 'PANIC';
}

function hangsUp(error: unknown): boolean {
  return HANGS_UP.test(codeOf(error)) || isFatal(error);
}

interface Prepared {
  readonly name: string | undefined;
  /** True if the server ran a statement that it had parsed before. */
  readonly reused: boolean;
}

/** The statement works when it is prepared again. */
export function isStale(error: unknown, { name, reused }: Prepared): boolean {
  const code = codeOf(error);
  return name !== undefined && ((reused && STALE.has(code)) || code === NAME_TAKEN);
}

export function staleStatement(cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_STALE_STATEMENT', 'A prepared statement no longer fits its tables', { cause });
}

export function isReadOnlyRefusal(error: unknown): boolean {
  return codeOf(error) === '25006';
}

export function readOnlyRefusal(cause?: unknown): TransactionError {
  const options = { sqlState: '25006', ...(cause === undefined ? {} : { cause }) };
  return new TransactionError('AMBIT_TX_READ_ONLY', 'PostgreSQL takes no writes', options);
}

/** PostgreSQL reports a commit as a success, too, when it was cancelled while it waited for a standby. */
export function unconfirmed(): TransactionError {
  return new TransactionError(
    'AMBIT_TX_OUTCOME_UNKNOWN',
    'The commit was cancelled, and may not have reached a standby',
  );
}

/** The server allows no further connection, or has no memory for one. */
export function hasNoSpace(error: unknown): boolean {
  return sqlStateOf(error)?.startsWith('53') ?? false;
}

/** Why none of the hosts gave a connection: the most specific reason decides, and all are kept. */
export function noServer(errors: readonly unknown[]): unknown {
  if (errors.length === 1) return errors[0];
  const takesNoWrites = errors.find((error) => isTransactionError(error) && error.code === 'AMBIT_TX_READ_ONLY');
  const cause = errors.find(hasNoSpace) ?? takesNoWrites ?? errors.at(-1);
  const all = new AggregateError(errors, 'None of the hosts gave a connection', { cause });
  return cause === takesNoWrites ? readOnlyRefusal(all) : all;
}

/** Why there was no connection, in our own words where the server says what has to be corrected. */
export function noConnection(cause: unknown): TransactionError {
  const why = REFUSALS[sqlStateOf(cause) ?? ''] ?? 'PostgreSQL gave no connection';
  return new TransactionError('AMBIT_TX_ACQUIRE_FAILED', why, { cause });
}

const REFUSALS: Readonly<Record<string, string>> = {
  '28000': 'PostgreSQL does not let this user in',
  '28P01': 'PostgreSQL refused the password',
  '3D000': 'PostgreSQL has no database of this name',
  '53300': 'PostgreSQL has no room for another connection',
};

/** PgBouncer's response to BEGIN where it gives each statement another session. */
const STATEMENT_MODE = /statement pooling mode/;

/** The error of the driver becomes the cause of one of ours, with a code and the SQLSTATE. */
export function translated(error: unknown, connectionDied: boolean): TransactionError {
  if (isTransactionError(error)) return error;
  if (codeOf(error) === PROTOCOL_VIOLATION && STATEMENT_MODE.test((error as Error).message)) {
    const what = 'PgBouncer runs in statement mode, which has no transactions: set pool_mode = transaction or session';
    return new TransactionError('AMBIT_TX_UNSUPPORTED', what, { cause: error });
  }
  if (!connectionDied && !hangsUp(error)) {
    return refusedStatement(error, sqlStateOf(error));
  }
  // Unchanged, the SQLSTATE would count as a definite response of PostgreSQL, also to a COMMIT.
  const code = codeOf(error);
  const isMisleading = code === PROTOCOL_VIOLATION || (isFatal(error) && !TRUE_AT_THE_END.test(code));
  return connectionLost(error, isMisleading ? '08006' : undefined);
}

/** Built-in types, which no migration changes, and which read a literal alike at any time. */
const TIMELESS =
  'bigint|bool|boolean|bytea|decimal|double precision|float[48]?|int[248]?|integer|jsonb?|numeric|real|smallint|text|uuid|varchar';
const TIMES = 'date|interval|time|timestamp|timestamptz';

/** With a type in the text: `$1::int`, or `CAST($1 AS int)`. */
function typed(value: string, types: string): string {
  const type = String.raw`(?:${types})(?![\w$.])`;
  return String.raw`${value}\s*::\s*${type}|\bcast\s*\(\s*${value}\s+as\s+${type}`;
}

const LITERAL = String.raw`'[^'\\]*'`;
/** Parameters and literals whose meaning the text itself fixes; the key of a JSON is one. */
const FIXED = new RegExp(
  `${typed(String.raw`\$\d+`, `${TIMELESS}|${TIMES}`)}|${typed(LITERAL, TIMELESS)}|->>?\\s*${LITERAL}`,
  'gi',
);

/**
 * True if a prepared statement always means what it means when it is parsed again. PostgreSQL finds the types of parameters, and the values of
 * literals such as `'today'`, once, when it parses: after an `ALTER TABLE`, or at another `TimeZone`, it would convert them without a word.
 * So each parameter and each literal in quotes must have a built-in type in the text.
 *
 * @param sql - one statement with `$1 ... $n`
 * @returns false where it has to be parsed each time
 */
export function mayBePrepared(sql: string): boolean {
  return !/['$]/.test(sql.replaceAll(FIXED, ''));
}

/** `SET LOCAL` and the like last only until the transaction completes. */
const CHANGES_SESSION =
  /^(?:set\b(?! local\b| constraints\b| transaction\b)|do\b|listen|load|prepare|deallocate|discard|create (?:or replace )?(?:local |global )?temp)/;
const TEMPORARY_TABLE = /^create (?:local |global )?temp/;
const ENDS_WITH_TRANSACTION = /\bon\s+commit\s+drop\b/i;
/** A cursor with it stays open after the transaction. */
const HOLD = /\bhold\b/i;
const CREATE = /\bcreate\b/i;

/** Without any of these words nothing has to be looked at more closely. A name after `U&` can hide all of them. */
const SUSPICIOUS = /advisory_lock|set_config|setseed|temp|pg_settings|u&"/i;
const CHANGES_SESSION_INSIDE = /\bpg_(?:try_)?advisory_lock|\bsetseed\b|\bpg_temp|u&"/i;
const INTO_TEMPORARY = /(?<!\binsert\s{1,9})\binto\s+(?:local\s+|global\s+)?temp(?:orary)?\b/i;
const SETTINGS = /\bpg_settings\b/i;
const UPDATE = /\bupdate\b/i;
const SET_CONFIG = /set_config/gi;
/** With `true` as its last argument it lasts only until the transaction completes; its arguments may have parentheses two deep. */
const LOCAL_SET_CONFIG = /\bset_config\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*,\s*true\s*\)/gi;

/**
 * Whether a statement leaves something in the session that would reach the next user of the connection: settings, session
 * locks, LISTEN, temporary objects, prepared statements. When the text is ambiguous, as that of a DO block is, the result is true, which costs a
 * connection. What a function does inside cannot be seen.
 */
export function leavesSessionState(sql: string): boolean {
  if (SUSPICIOUS.test(sql) && changesSessionInside(sql)) return true;
  const start = firstWords(sql, POSTGRES);
  if (start.startsWith('declare')) return HOLD.test(sql);
  // With ANALYZE it creates the table that it explains.
  if (start.startsWith('explain')) return CREATE.test(sql);
  if (!CHANGES_SESSION.test(start)) return false;
  return !(TEMPORARY_TABLE.test(start) && ENDS_WITH_TRANSACTION.test(unquoted(sql)));
}

/** Settings that SET has words of its own for. */
const SPELT_OUT: Readonly<Record<string, string>> = {
  time: 'TimeZone',
  schema: 'search_path',
  names: 'client_encoding',
  authorization: 'session_authorization',
};

/** The names of the settings that `SET` and `set_config()` in a statement change, where the text or a parameter says them. */
export function settingsChangedBy(sql: string, params: readonly unknown[]): string[] {
  if (!/\bset/i.test(sql)) return [];
  const tokens = Array.from(tokensOf(sql, POSTGRES)).filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  const texts = tokens.map(({ kind, text }) => (kind === 'name' ? text.slice(1, -1) : text));
  const names: string[] = [];
  texts.forEach((text, index) => {
    if (text.toLowerCase() !== 'set_config') return;
    const name = texts[index + 2] ?? '';
    const value = name.startsWith('$') ? params[Number(name.slice(1)) - 1] : name.slice(1, -1);
    if (typeof value === 'string') names.push(value);
  });
  if (texts[0]?.toLowerCase() !== 'set') return names;
  const first = /^(?:local|session)$/i.test(texts[1] ?? '') ? 2 : 1;
  const end = texts.findIndex((text) => /^(?:=|to)$/i.test(text));
  const name =
    SPELT_OUT[texts[first]?.toLowerCase() ?? ''] ?? texts.slice(first, end === -1 ? first + 1 : end).join('');
  return [...names, name];
}

function changesSessionInside(sql: string): boolean {
  if (CHANGES_SESSION_INSIDE.test(sql) || (SETTINGS.test(sql) && UPDATE.test(sql))) return true;
  const text = unquoted(sql);
  if (INTO_TEMPORARY.test(sql) || INTO_TEMPORARY.test(text)) return true;
  return count(SET_CONFIG, sql) !== count(LOCAL_SET_CONFIG, text);
}

function count(what: RegExp, text: string): number {
  return text.match(what)?.length ?? 0;
}

/**
 * The statement without comments, and without what is inside quotes. Empty for a text with a backslash: what that means
 * depends on the kind of the string, and on a setting.
 */
function unquoted(sql: string): string {
  if (sql.includes('\\')) return '';
  let text = '';
  for (const token of tokensOf(sql, POSTGRES)) {
    if (token.kind === 'comment') text += ' ';
    else if (token.kind === 'text') text += "''";
    else text += token.kind === 'name' ? '""' : token.text;
  }
  return text;
}

function beginStatement({ isolation, readOnly }: BeginOptions): string {
  const level = isolation === undefined ? '' : ` ISOLATION LEVEL ${isolation.toUpperCase()}`;
  const access = readOnly === undefined ? '' : readOnly ? ' READ ONLY' : ' READ WRITE';
  return `BEGIN${level}${access}`;
}

const ISOLATION_SQL = "SELECT current_setting('transaction_isolation') AS isolation WHERE $1::text IS NOT NULL";

const READS_LAST_ID = /\b(?:last|curr)val\s*\(/i;

/** A session keeps the last ids of its sequences, and the next user of the connection would read that of another. */
function refuseLastId(sql: string): void {
  if (!READS_LAST_ID.test(sql) || !READS_LAST_ID.test(unquoted(sql))) return;
  const what = 'lastval() and currval() may give the id of another user of the connection: take it from RETURNING';
  throw new TransactionError('AMBIT_TX_UNSUPPORTED', what);
}

/** PostgreSQL, whichever driver is used. */
export const POSTGRES_LANGUAGE: Language = {
  check: refuseLastId,
  begin: (options) => [beginStatement(options)],
  isolationSql: ISOLATION_SQL,
  leavesSessionState,
  value: postgresValue,
  translate: (error, { isLost }) =>
    isLost || hangsUp(error) ? translated(error, true) : refusedStatement(error, sqlStateOf(error)),
};
