import type { BeginOptions } from '../contract.js';
import { connectionLost, refusedStatement, TransactionError } from '../errors.js';
import type { Language } from '../pool/driver.js';
import { firstWords } from '../sql/control-statements.js';
import { MYSQL, type Token, tokensOf } from '../sql/lexer.js';

/** The time in UTC, since local time is the same twice when summer time ends. */
export const NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000";

/** Both servers begin, commit or roll back at these, and read them behind a `#` comment too. MariaDB runs blocks that may do so. */
const CONTROL = /^(?:begin|start transaction|commit|rollback(?! (?:work )?to\b)|xa|if|case|loop|repeat|while|for)\b/;
/** The server commits the open transaction before and after these, without a word. */
const COMMITS =
  /^(?:alter|analyze (?:\w+ )?table|backup|cache|change|check|create(?! (?:or replace )?temporary table)|drop(?! temporary)|flush|grant|install|load index|lock|optimize|purge|rename|repair|reset|revoke|set password|start|stop|truncate|uninstall|unlock)\b/;
/** The protocol of prepared statements has no PREPARE and EXECUTE, so they are not here. */
const CHANGES_SESSION = /^(?:set|create (?:or replace )?temporary|lock|flush|backup|use|handler)\b/;
/** A lock, or a variable such as `@total`, is of the session, whatever takes or sets it: `:=`, INTO, an argument of CALL. */
const USES_SESSION = /\bget_lock\b|(?<!@)@(?!@)/i;
/** The server runs the text of such a comment. */
const RUN_COMMENT = /\/\*M?!/;

/** The same code says that another node of a Galera cluster has changed the same row first. */
const DEADLOCK = 1213;
/** The numbers of MySQL and MariaDB as the SQLSTATE that PostgreSQL would give: their own are too coarse. */
const SQLSTATES: Readonly<Record<number, string>> = {
  1022: '23505',
  1062: '23505',
  1048: '23502',
  1364: '23502',
  1216: '23503',
  1217: '23503',
  1451: '23503',
  1452: '23503',
  3819: '23514',
  4025: '23514',
  1064: '42601',
  1205: '55P03',
  [DEADLOCK]: '40001',
  1020: '40001',
  1040: '53300',
  1203: '53300',
  1226: '53300',
  1317: '57014',
  1969: '57014',
  3024: '57014',
  1021: '53100',
  1114: '53100',
  1034: 'XX001',
  1194: 'XX001',
  1712: 'XX001',
};
/** Errors of the storage, whose message has the number of the system's error; 28 is that of a full disk. */
const STORAGE = new Set([3, 1026, 1030]);
const NO_SPACE = /\b28\b/;
/** The server closes the connection after these: somebody killed it, or the server shuts down. */
const CLOSING = new Set([1053, 1080, 1927]);
/** A COMMIT that was interrupted may have been stored. */
const INTERRUPTED = new Set([1317, 1969, 3024]);
/** The transaction could not be ended as asked: in a Galera cluster the other nodes may have stored it nevertheless. */
const DURING_COMMIT = 1180;
/** The number of an unknown command, too; of Galera's nodes without a majority, which have run nothing. */
const NOT_PREPARED = 1047;
/** 1290 is the number of other options, too. */
const TAKES_NO_WRITES = new Set([1290, 1836]);
const IS_READ_ONLY = /read[-_ ]only/i;

/**
 * With a snapshot, because the server takes a savepoint that is older than the first statement for the begin of the transaction:
 * to roll back to it would release its locks, and later reads would be of a newer snapshot.
 */
function begin({ isolation, readOnly }: BeginOptions): readonly string[] {
  const access = readOnly === undefined ? '' : `, READ ${readOnly ? 'ONLY' : 'WRITE'}`;
  const start = `START TRANSACTION WITH CONSISTENT SNAPSHOT${access}`;
  return isolation === undefined ? [start] : [`SET TRANSACTION ISOLATION LEVEL ${isolation.toUpperCase()}`, start];
}

function check(sql: string, { inTransaction }: { inTransaction: boolean }): void {
  if (RUN_COMMENT.test(sql) && Array.from(tokensOf(sql, MYSQL)).some(isRun)) {
    throw refused('The text of a comment /*! */ is run by the server');
  }
  const start = firstWords(sql, MYSQL);
  if (isSetStatement(start)) return check(behindFor(sql), { inTransaction });
  if (CONTROL.test(start) || (/^set\b/.test(start) && /autocommit/i.test(codeOf(sql)))) {
    throw refused('query() was called with a statement that begins, commits or rolls back a transaction');
  }
  if (inTransaction && COMMITS.test(start)) {
    throw refused('The server would commit the open transaction before this statement');
  }
}

function leavesSessionState(sql: string): boolean {
  const start = firstWords(sql, MYSQL);
  if (isSetStatement(start)) return leavesSessionState(behindFor(sql));
  return CHANGES_SESSION.test(start) || (USES_SESSION.test(sql) && USES_SESSION.test(codeOf(sql)));
}

/** `SET STATEMENT max_statement_time = 5 FOR SELECT ...` of MariaDB. */
const isSetStatement = (start: string): boolean => /^set statement\b/.test(start);

function behindFor(sql: string): string {
  for (const { kind, text, start } of tokensOf(sql, MYSQL))
    if (kind === 'word' && text.toLowerCase() === 'for') return sql.slice(start + text.length);
  return '';
}

const isRun = ({ kind, text }: Token): boolean => kind === 'comment' && text.search(RUN_COMMENT) === 0;

/** Without the content of texts, and without comments. */
function codeOf(sql: string): string {
  const shown = ({ kind, text }: Token): string => (kind === 'text' ? "''" : kind === 'comment' ? ' ' : text);
  return Array.from(tokensOf(sql, MYSQL), shown).join('');
}

function refused(what: string): TransactionError {
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

function translate(error: unknown, { isLost }: { isLost: boolean }): TransactionError {
  const { errno, sqlState, message = '' } = error as { errno?: number; sqlState?: string; message?: string };
  // The server's own SQLSTATE would count as its definite response, also to a COMMIT.
  if (isLost) return connectionLost(error, sqlState === undefined ? undefined : '08006');
  if (errno === undefined) return refusedStatement(error, sqlState);
  if (errno === DURING_COMMIT) return outcomeUnknown(error);
  if (errno === NOT_PREPARED && message.includes('WSREP')) {
    return takesNoWrites('The node is not part of the primary component of its cluster', error);
  }
  if (TAKES_NO_WRITES.has(errno) && IS_READ_ONLY.test(message)) {
    return takesNoWrites('The server takes no writes', error);
  }
  if (STORAGE.has(errno)) return refusedStatement(error, NO_SPACE.test(message) ? '53100' : '58030');
  return refusedStatement(error, SQLSTATES[errno] ?? sqlState);
}

function outcomeUnknown(cause: unknown): TransactionError {
  const options = { cause, sqlState: '40003' };
  return new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', 'The server failed during COMMIT', options);
}

function takesNoWrites(what: string, cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_READ_ONLY', what, { cause, sqlState: '25006' });
}

const NO_ROOM = '53300';

/** The server has too many connections, as it says in numbers of its own; or there was none in time. */
export function noConnection(refusal?: { readonly cause: unknown }): TransactionError {
  if (!refusal) return new TransactionError('AMBIT_TX_ACQUIRE_TIMEOUT', 'The driver gave no connection in time');
  const { cause } = refusal;
  const { errno = 0 } = Object(cause) as { errno?: number };
  if (SQLSTATES[errno] !== NO_ROOM) {
    return new TransactionError('AMBIT_TX_ACQUIRE_FAILED', 'The driver gave no connection', { cause });
  }
  const what = 'The server has no room for another connection';
  return new TransactionError('AMBIT_TX_ACQUIRE_FAILED', what, { cause, sqlState: NO_ROOM });
}

/** MySQL and MariaDB. */
export const MYSQL_LANGUAGE: Language = {
  begin,
  check,
  leavesSessionState,
  translate,
};

/** True if the connection cannot be used again. */
export function isFatal(error: unknown): boolean {
  const { fatal, errno = 0, sqlState = '' } = (error ?? {}) as { fatal?: unknown; errno?: number; sqlState?: string };
  return fatal === true || CLOSING.has(errno) || (sqlState.startsWith('08') && errno !== NOT_PREPARED);
}

/** True if the server has rolled the transaction back. */
export const isDeadlock = (error: unknown): boolean => (error as { errno?: number } | undefined)?.errno === DEADLOCK;

/** A procedure may begin a transaction, and COMMIT does where `completion_type` is CHAIN. */
export function leftOpenBy(): TransactionError {
  return refused('A statement, such as CALL, left a transaction open, which is rolled back');
}

/** The error that a node gives for a statement; while it prepares a SELECT, it undoes the transaction and says nothing. */
export function conflict(): Error {
  const what = 'Another node of the cluster changed the same row first';
  return Object.assign(new Error(what), { errno: DEADLOCK, sqlState: '40001' });
}

/** True if the server stopped a statement that took too long, or that another session cancelled. */
export const isInterrupted = (error: unknown): boolean =>
  INTERRUPTED.has((error as { errno?: number } | undefined)?.errno ?? 0);
