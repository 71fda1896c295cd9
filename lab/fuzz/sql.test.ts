import {
  commandOf,
  firstWords,
  isTransactionControl,
  POSTGRES,
  PositionalTexts,
  type Token,
  tokensOf,
} from '@ambit/transaction/extension';
import { withoutLiterals } from '@ambit/transaction/host';
import { splitStatements } from '@ambit/transaction';
import { fingerprintSync, loadModule, parseSync, scanSync, type ScanToken } from 'libpg-query';
import initSqlJs from 'sql.js';
import { isRollbackTo, isSavepoint, savepointIn } from '../../packages/transaction/src/sql/control-statements.js';
import { EITHER, SQLITE } from '../../packages/transaction/src/sql/lexer.js';
import { isScriptInSqlite } from '../../packages/transaction/src/sql/split-statements.js';
import { it } from 'vitest';
import { mustHoldForAll, mustHold } from './texts.js';

const DICTIONARY = [
  'select',
  'insert into t values (',
  'update t set a = ',
  'delete from t',
  'with x as (',
  'values (1)',
  'table t',
  'from t',
  'where',
  'begin',
  'commit',
  'rollback',
  'end',
  'abort',
  'start transaction',
  'prepare transaction',
  'savepoint a',
  'release a',
  'release savepoint "A"',
  'rollback to a',
  'rollback work to savepoint',
  'rollback and chain',
  'commit prepared',
  'isolation level',
  'case when',
  'then',
  'end;',
  'atomic',
  'create function f() returns int',
  'create trigger r after insert on t',
  'create procedure',
  'create or replace',
  'language sql',
  'for each row',
  'return 1',
  'explain',
  'merge into t using',
  'when matched then delete',
  'as',
  'array[',
  ']',
  '[',
  '(',
  ')',
  '()',
  ';',
  ',',
  '.',
  '::',
  ':',
  '=',
  '--',
  '--\n',
  '--\r',
  '/*',
  '*/',
  '/**/',
  '/*/',
  "'",
  "''",
  '"',
  '""',
  '`',
  "e'",
  "E'\\'",
  "\\'",
  "u&'",
  'U&"',
  'uescape',
  "b'1'",
  "x'ff'",
  "n'",
  '$1',
  '$2',
  '$10',
  '$a$',
  '$$',
  '$é$',
  '?',
  '?1',
  ':a',
  '@a',
  '1e',
  '1.5',
  '.5',
  '0x1',
  '1_0',
  '1e+',
  'é',
  '\u00a0',
  '\u3000',
  '\v',
  '\f',
  '\uFEFF',
];

const SEEDS = [
  'select 1',
  "select 'a''b', E'\\'', $a$x$a$ from t where a = $1 -- x",
  'select /* /* */ */ 1; select 2;',
  'commit',
  'begin; commit',
  'savepoint a',
  'release savepoint a',
  'rollback to savepoint "A b"',
  'rollback work to a',
  'start transaction isolation level serializable',
  'with x as (select 1 as a) update t set a = $1',
  'insert into t (a, b) values ($2, $1)',
  'merge into t using t as u on true when matched then delete',
  'select a[1], array[1, 2] from t',
  'select "a""b" from t',
  "select 'a'\n'b'",
  "select e'a'\n'\\''",
  'select 1.5e-3 + .5, 0x1f, 1_000',
  'create function f() returns int begin atomic select 1; select 2; end; select 3',
  'create trigger r after insert on t begin select 1; delete from t; end; select 2',
  'select case when true then 1 end; select 2',
  "prepare transaction 'x'",
  "commit prepared 'x'",
  'values (1), (2)',
  'table t',
  '(select 1) union select 2',
  '[select] ; `x`',
  "select u&'\\0061'",
];

const CONTROL = new Set(
  ['BEGIN', 'START', 'COMMIT', 'ROLLBACK', 'PREPARE', 'COMMIT_PREPARED', 'ROLLBACK_PREPARED'].map(
    (kind) => `TRANS_STMT_${kind}`,
  ),
);
const COMMANDS: Readonly<Record<string, string>> = {
  SelectStmt: 'SELECT',
  InsertStmt: 'INSERT',
  UpdateStmt: 'UPDATE',
  DeleteStmt: 'DELETE',
  MergeStmt: 'MERGE',
};
/** In bytes; PostgreSQL cuts a longer one within or before its last character. */
const LONGEST_NAME = 60;
/** What one connection may bind. */
const MOST_PARAMETERS = 65_535;

await loadModule();
const { Database: Sqlite } = await initSqlJs();
const sqlite = new Sqlite();
sqlite.run('CREATE TABLE t (a, b, c)');

it('SQL is read as PostgreSQL and SQLite read it', () =>
  mustHoldForAll({ dictionary: DICTIONARY, seeds: SEEDS, maxLength: 400 }, (text) => {
    const sql = Buffer.from(text).toString();
    // No driver sends it.
    if (sql.includes('\0')) return;
    byItself(sql);
    asPostgresReads(sql);
    asSqliteReads(sql);
  }));

/** Whatever the text. */
function byItself(sql: string): void {
  for (const dialect of [POSTGRES, SQLITE, EITHER]) {
    let end = 0;
    for (const token of tokensOf(sql, dialect)) {
      mustHold(
        token.start === end && token.text === sql.slice(token.start, token.end),
        'tokens have gaps',
        () => token,
      );
      mustHold(token.end > token.start, 'a token is empty', () => token);
      mustHold(token.closed || token.end === sql.length, 'what is open does not go on to the end', () => token);
      end = token.end;
    }
    mustHold(end === sql.length, 'the tokens end early');
  }
  const statements = splitStatements(sql);
  let from = 0;
  for (const statement of statements) {
    const at = sql.indexOf(statement, from);
    mustHold(at >= 0, 'a statement is not in the script', () => ({ statement }));
    from = at + statement.length;
  }
}

type Range = readonly [start: number, end: number];

const CLASSES: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['comment', /^(?:--|\/\*)/],
  ['parameter', /^\$\d/],
  ['text', /^(?:[bxneu]&?)?'|^\$/i],
  ['name', /^(?:u&)?"/i],
  ['number', /^\.?\d/],
  ['word', /^[a-z_\u0080-\uffff]/i],
];

function asPostgresReads(sql: string): void {
  let statements: readonly Statement[];
  let scanned: readonly ScanToken[];
  try {
    statements = (parseSync(sql).stmts ?? []).map(({ stmt }) => stmt as Statement);
    scanned = scanSync(sql).tokens;
  } catch {
    return;
  }
  // To us `?1` is a parameter, and to PostgreSQL an operator before a number.
  const hasOperator = /\?\d/.test(sql);
  if (!hasOperator) compareTokens(sql, scanned);
  // What splits scripts and reads savepoints skips a byte order mark, as SQLite does.
  const isMarked = sql.includes('\uFEFF');
  if (!isMarked) compareScript(sql, statements);
  const [statement] = statements;
  if (!statement || statements.length > 1) return;
  const [entry] = Object.entries(statement);
  if (!entry) return;
  const [type, node] = entry;
  if (!isMarked) compareControl(sql, type, node);
  compareParameters(sql, scanned);
  const command = COMMANDS[type];
  if (command === undefined) return;
  const read = commandOf(sql, POSTGRES);
  mustHold(read === command, 'another command than PostgreSQL reads', () => ({ command, read }));
  // What masks literals takes what is in backticks for a name, as SQLite does.
  if (!hasOperator && !sql.includes('`')) compareWithoutLiterals(sql);
}

interface Node {
  readonly kind?: string;
  readonly savepoint_name?: string;
}
type Statement = Readonly<Record<string, Node>>;

/** Positions in bytes, as PostgreSQL has them. Where a prefix of a text or a name is a token of its own is of no importance. */
function rangesOf(
  tokens: Iterable<{ readonly text: string; readonly start: number; readonly end: number }>,
): Record<string, Range[]> {
  const ranges: Record<string, Range[]> = Object.fromEntries(CLASSES.map(([what]) => [what, []]));
  for (const { text, start, end } of tokens) {
    const [what] = CLASSES.find(([, pattern]) => pattern.test(text)) ?? [];
    if (what === undefined) continue;
    const prefix = what === 'text' || what === 'name' ? Math.max(0, text.search(/['"$]/)) : 0;
    ranges[what]?.push([start + prefix, end]);
  }
  return ranges;
}

function compareTokens(sql: string, scanned: readonly ScanToken[]): void {
  const ours = inBytes(sql);
  const expected = rangesOf(scanned);
  const read = rangesOf(ours.filter(({ kind }) => kind !== 'space'));
  const show = (what: string) => () => ({ expected: expected[what], read: read[what] });
  const isSame = (what: string): boolean => JSON.stringify(expected[what]) === JSON.stringify(read[what]);
  for (const what of ['comment', 'parameter', 'name', 'number'])
    mustHold(isSame(what), `another ${what} than PostgreSQL reads`, show(what));
  // PostgreSQL continues a text in the next line.
  const texts = [...(read['text'] ?? [])];
  for (const [start, end] of expected['text'] ?? []) {
    const parts = texts.splice(0, texts.findLastIndex((part) => part[1] <= end) + 1);
    mustHold(parts[0]?.[0] === start && parts.at(-1)?.[1] === end, 'another text than PostgreSQL reads', show('text'));
  }
  mustHold(texts.length === 0, 'a text where PostgreSQL reads none', show('text'));
  const semicolons = (tokens: readonly { readonly text: string; readonly start: number }[]): string =>
    String(tokens.filter(({ text }) => text === ';').map(({ start }) => start));
  mustHold(semicolons(ours) === semicolons(scanned), 'another semicolon than PostgreSQL reads');
  const prefixed = new Set(
    [...(expected['text'] ?? []), ...(expected['name'] ?? [])].flatMap(([start]) => [start, start - 1]),
  );
  const words = (ranges: readonly Range[] = []): string =>
    JSON.stringify(ranges.filter(([, end]) => !prefixed.has(end)));
  mustHold(words(expected['word']) === words(read['word']), 'another word than PostgreSQL reads', show('word'));
}

function inBytes(sql: string): Token[] {
  let at = 0;
  return Array.from(tokensOf(sql, POSTGRES), (token) => {
    const start = at;
    at += Buffer.byteLength(token.text);
    return { ...token, start, end: at };
  });
}

/** What is split is whole statements; all of them, where both databases read the script alike. */
function compareScript(sql: string, statements: readonly Statement[]): void {
  const parts = splitStatements(sql);
  const counts = parts.map((part) => {
    try {
      return parseSync(part).stmts?.length ?? 0;
    } catch {
      return NaN;
    }
  });
  const sum = counts.reduce((all, count) => all + count, 0);
  mustHold(sum === statements.length, 'a script is split within a statement', () => ({ parts, counts }));
  mustHold(!counts.includes(0), 'a part of a script is no statement', () => ({ parts, counts }));
}

function compareControl(sql: string, type: string, { kind = '', savepoint_name: name }: Node): void {
  const isControl = type === 'TransactionStmt' && CONTROL.has(kind);
  const show = () => ({ type, kind, words: firstWords(sql, POSTGRES) });
  mustHold(!isControl || isTransactionControl(sql), 'a statement that controls the transaction is not seen', show);
  if (isControl) return;
  mustHold(
    !isTransactionControl(sql) || hasCommentInComment(sql),
    'a statement that controls no transaction is refused',
    show,
  );
  const does = { TRANS_STMT_SAVEPOINT: 'set', TRANS_STMT_RELEASE: 'release', TRANS_STMT_ROLLBACK_TO: 'undo' }[kind];
  if (hasCommentInComment(sql)) return;
  mustHold((does === 'undo') === isRollbackTo(sql), 'ROLLBACK TO is read in another way', show);
  mustHold((does === 'set' || does === 'release') === isSavepoint(sql), 'a savepoint is read in another way', show);
  const read = savepointIn(sql);
  mustHold(read?.does === does, 'what is done with a savepoint is read in another way', () => ({ ...show(), read }));
  // Names with escapes, U&"\0061", are not read.
  if (Buffer.byteLength(name ?? '') >= LONGEST_NAME || /u&"/i.test(sql)) return;
  mustHold(read?.name === (does && name?.toLowerCase()), 'the name of a savepoint is read in another way', () => ({
    name,
    read,
  }));
}

/** Comments that PostgreSQL and SQLite end in different places; both readings count. */
const hasCommentInComment = (sql: string): boolean => /--[^\n]*\r|\/\*[^]*\/\*/.test(sql);

/** What MariaDB reads as a string, and PostgreSQL as a name or as the end of one: that is left out. */
const mayBeTextOfMariadb = (sql: string): boolean => /\\'|"[^"]*[^\w $.\u0080-\uffff-][^"]*"|""/.test(sql);

/** What a log shows is the same statement with other literals. */
function compareWithoutLiterals(sql: string): void {
  if (mayBeTextOfMariadb(sql)) return;
  const shown = withoutLiterals(sql, { text: " 'x'", number: ' 1' });
  const [expected, fingerprint] = [sql, shown].map(fingerprintOf);
  if (expected !== undefined)
    mustHold(fingerprint === expected, 'without literals it is another statement', () => ({ shown }));
}

function fingerprintOf(sql: string): string | undefined {
  try {
    return fingerprintSync(sql);
  } catch {
    return undefined;
  }
}

function compareParameters(sql: string, scanned: readonly ScanToken[]): void {
  const numbers = scanned.filter(({ text }) => /^\$\d/.test(text)).map(({ text }) => Number(text.slice(1)));
  const count = Math.max(0, ...numbers);
  if (count > MOST_PARAMETERS || numbers.includes(0)) return;
  // An operator with `?` is refused: a driver that binds by place would take it for a parameter.
  if (Array.from(tokensOf(sql, POSTGRES)).some(({ text }) => text.startsWith('?'))) return;
  const { text, values } = new PositionalTexts(POSTGRES).translate(
    sql,
    Array.from({ length: count }, (_, index) => index + 1),
  );
  mustHold(String(values) === String(numbers), 'parameters in another order', () => ({ numbers, values }));
  const length = sql.length - numbers.reduce((sum, number) => sum + String(number).length, 0);
  mustHold(
    text.length <= sql.length && text.length >= length - 99,
    'the text of positional parameters has another length',
    () => ({ text }),
  );
}

/** The first word of each row of the program that SQLite makes of a statement. */
function asSqliteReads(sql: string): void {
  let statements: number;
  try {
    statements = [...sqlite.iterateStatements(sql)].length;
  } catch {
    return;
  }
  // A statement without text is none.
  const isScript = isScriptInSqlite(sql);
  mustHold(isScript === statements > 1, 'SQLite reads another number of statements', () => ({ statements }));
  if (statements !== 1) return;
  compareProgram(sql);
}

const SAVEPOINTS = ['set', 'release', 'undo'];

function compareProgram(sql: string): void {
  let rows: readonly (readonly unknown[])[];
  try {
    rows = sqlite.exec(`EXPLAIN ${sql}`)[0]?.values ?? [];
  } catch {
    // An EXPLAIN itself.
    return;
  }
  const find = (opcode: string): readonly unknown[] | undefined => rows.find((row) => row[1] === opcode);
  const control = find('AutoCommit');
  mustHold(!control || isTransactionControl(sql), 'a statement that controls the transaction in SQLite is not seen');
  const [, , does, , , name] = find('Savepoint') ?? [];
  // A bracket directly behind a word is a subscript to us, and the beginning of a name to SQLite.
  if (does === undefined || hasCommentInComment(sql) || /\w\[/.test(sql)) return;
  const read = savepointIn(sql);
  const expected = SAVEPOINTS[Number(does)];
  mustHold(read?.does === expected, 'SQLite does something else with the savepoint', () => ({ read, expected }));
  // sql.js takes the byte order mark off what it returns.
  mustHold(
    read?.name?.replace(/^\uFEFF/, '') === String(name).toLowerCase(),
    'SQLite has another name of the savepoint',
    () => ({
      read,
      name,
    }),
  );
}
