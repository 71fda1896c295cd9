import { array, assert, constantFrom, integer, oneof, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRollbackTo, isTransactionControl, savepointIn } from '../src/sql/control-statements.js';
import { splitStatements } from '../src/index.js';
import { isScriptInSqlite } from '../src/sql/split-statements.js';
import { withoutLiterals } from '../src/host.js';
import { EITHER, MYSQL, POSTGRES, SQLITE, tokensOf } from '../src/sql/lexer.js';
import { commandOf } from '../src/sql/command.js';
import { PositionalText, PositionalTexts } from '../src/sql/positional.js';

const PIECES = [
  ' ',
  "'",
  '"',
  '`',
  '/*',
  '/**/',
  '/*/',
  '*/',
  ';',
  '--',
  '--\n',
  '$a$',
  '[',
  ' [',
  'a[',
  ']',
  '(',
  'array ',
  "e'",
  "e'\\",
  "e'a'\n",
  'a',
  '1',
  '1e+',
  '$1 ',
  'end;',
];

describe.each([
  ['PostgreSQL', POSTGRES],
  ['SQLite', SQLITE],
  ['either', EITHER],
])('the lexer for %s', (_name, dialect) => {
  test('loses no character, whatever the text', () => {
    assert(
      property(array(oneof(constantFrom(...PIECES), string())), (pieces) => {
        const sql = pieces.join('');
        const tokens = [...tokensOf(sql, dialect)];
        expect(tokens.map(({ text }) => text).join('')).toBe(sql);
        for (const { closed, end } of tokens) expect(closed || end === sql.length).toBe(true);
      }),
    );
  });

  test.each<[string, ...string[]]>([
    ["SELECT 'a''b' -- c", 'word', 'text', 'comment'],
    ['"a""b"."c"', 'name', 'mark', 'name'],
    ['a$1 = $1', 'word', 'mark', 'parameter'],
    ['1.5e-3 + .5', 'number', 'mark', 'number'],
    ["x'ff'", 'text'],
    // No space, to either.
    ['\u3000', 'word'],
    ['0xe-3', 'number', 'mark', 'number'],
    ["'open", 'text'],
    ['/* open', 'comment'],
  ])('reads %j alike', (sql, ...kinds) => {
    expect([...tokensOf(sql, dialect)].map(({ kind }) => kind).filter((kind) => kind !== 'space')).toEqual(kinds);
  });
});

test.each<[string, postgres: string[], sqlite: string[]]>([
  ['/* /* */ */', ['/* /* */ */'], ['/* /* */', '*', '/']],
  ['-- a\rb', ['-- a', 'b'], ['-- a\rb']],
  ['a[1]', ['a', '[', '1', ']'], ['a', '[1]']],
  ["$a$'$a$", ["$a$'$a$"], ['$', 'a$', "'$a$"]],
  [String.raw`E'\''`, [String.raw`E'\''`], ['E', String.raw`'\''`]],
  ['`a b`', ['`', 'a', 'b', '`'], ['`a b`']],
  ['\uFEFF;', ['\uFEFF', ';'], [';']],
])('PostgreSQL and SQLite read %j in different ways', (sql, postgres, sqlite) => {
  const read = (dialect: typeof POSTGRES): string[] =>
    [...tokensOf(sql, dialect)].filter(({ kind }) => kind !== 'space').map(({ text }) => text);
  expect([read(POSTGRES), read(SQLITE)]).toEqual([postgres, sqlite]);
});

describe('withoutLiterals()', () => {
  test.each([
    ["SELECT * FROM users WHERE email = 'ada@example.org' LIMIT 10", 'SELECT * FROM users WHERE email = ? LIMIT ?'],
    ['SELECT "col 2", `a 1`, $1, ?2, t1 FROM t -- secret', 'SELECT "col 2", `a 1`, $1, ?2, t1 FROM t  '],
    ["SELECT 'open, 5", 'SELECT ?'],
    [`SELECT "open, 5, 'secret'`, 'SELECT "open, ?, ?'],
  ])('of %j', (sql, shown) => expect(withoutLiterals(sql, { text: '?', number: '?' })).toBe(shown));
});

describe('a positional text for SQLite', () => {
  test.each<[string, string, number[]]>([
    ['SELECT $1, $2', 'SELECT ?, ?', [1, 2]],
    ['SELECT $2, $1, $2', 'SELECT ?, ?, ?', [2, 1, 2]],
    ["SELECT '$1', $1", "SELECT '$1', ?", [1]],
    ["SELECT 'it''s $1', $1", "SELECT 'it''s $1', ?", [1]],
    ['SELECT "$1", `$2`, [$3]', 'SELECT "$1", `$2`, [$3]', []],
    ['SELECT 1 -- $1\n, $1', 'SELECT 1 -- $1\n, ?', [1]],
    ['SELECT /* $1 */ $1', 'SELECT /* $1 */ ?', [1]],
    ['SELECT a$1 FROM t', 'SELECT a$1 FROM t', []],
    ['SELECT 1', 'SELECT 1', []],
    ['SELECT $a$, $1, $a$', 'SELECT $a$, ?, $a$', [1]],
    // What nothing closes goes on to the end, as SQLite reads it.
    ["SELECT 'open $1", "SELECT 'open $1", []],
    ['SELECT $1 /* $2', 'SELECT ? /* $2', [1]],
  ])('of %j', (sql, text, order) => {
    const positional = new PositionalText(sql, SQLITE);
    expect(positional.text).toBe(text);
    const params = Array.from({ length: Math.max(0, ...order) }, (_, index) => index + 1);
    expect(positional.inOrder(params)).toEqual(order);
  });

  test('touches nothing that is quoted or a comment, and everything else', () => {
    const inert = oneof(
      string().map((text) => `'${text.replaceAll("'", "''")}'`),
      string().map((text) => `"${text.replaceAll('"', '""')}"`),
      string().map((text) => `--${text.replaceAll('\n', ' ')}\n`),
      string().map((text) => `/*${text.replaceAll('*/', '')}*/`),
    );
    const live = integer({ min: 1, max: 99 }).map((n) => `$${n}`);
    assert(
      property(array(oneof(inert, live)), (parts) => {
        const expected = parts.map((part) => (/^\$\d+$/.test(part) ? '?' : part));
        expect(new PositionalText(parts.join(' '), SQLITE).text).toBe(expected.join(' '));
      }),
    );
  });

  test('takes no longer than the text is long', () => {
    for (const piece of PIECES) {
      // Of this process, whatever else the machine does.
      const start = process.cpuUsage();
      new PositionalText(piece.repeat(20_000), SQLITE);
      isTransactionControl(piece.repeat(20_000));
      isTransactionControl(`ROLLBACK ${piece.repeat(20_000)}`);
      splitStatements(piece.repeat(20_000));
      splitStatements(`CREATE TRIGGER t BEGIN ${piece.repeat(20_000)}`);
      withoutLiterals(piece.repeat(20_000), { text: '?', number: '?' });
      expect(process.cpuUsage(start).user / 1000, `of many ${piece}`).toBeLessThan(5000);
    }
  });
});

describe('splitStatements()', () => {
  test.each<[string, string[]]>([
    ['', []],
    [' ; -- nothing\n ;', []],
    ['SELECT 1', ['SELECT 1']],
    ['SELECT 1; SELECT 2;', ['SELECT 1', 'SELECT 2']],
    ["SELECT ';'; SELECT 2 -- ;", ["SELECT ';'", 'SELECT 2 -- ;']],
    ['CREATE FUNCTION f() AS $$ a; b; $$; SELECT 2', ['CREATE FUNCTION f() AS $$ a; b; $$', 'SELECT 2']],
    ['DO $body$ a; $$ b; $$ $body$; SELECT 2', ['DO $body$ a; $$ b; $$ $body$', 'SELECT 2']],
    [
      'CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; SELECT 3; END; SELECT 4',
      ['CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; SELECT 3; END', 'SELECT 4'],
    ],
    [
      'CREATE TRIGGER t AFTER INSERT ON p BEGIN UPDATE l SET s = new.begin; END; SELECT 2',
      ['CREATE TRIGGER t AFTER INSERT ON p BEGIN UPDATE l SET s = new.begin; END', 'SELECT 2'],
    ],
    [
      'CREATE TRIGGER t AFTER INSERT ON p BEGIN UPDATE l SET e = new.end; UPDATE l SET n = 1; END; SELECT 2',
      ['CREATE TRIGGER t AFTER INSERT ON p BEGIN UPDATE l SET e = new.end; UPDATE l SET n = 1; END', 'SELECT 2'],
    ],
    [
      'CREATE TRIGGER t AFTER UPDATE OF begin ON p BEGIN UPDATE l SET begin = 1, n = (end); SELECT end; END; SELECT 2',
      [
        'CREATE TRIGGER t AFTER UPDATE OF begin ON p BEGIN UPDATE l SET begin = 1, n = (end); SELECT end; END',
        'SELECT 2',
      ],
    ],
    [
      'CREATE TRIGGER t BEFORE UPDATE ON p FOR EACH ROW WHEN (new.begin > 0) EXECUTE FUNCTION f(); SELECT 2',
      ['CREATE TRIGGER t BEFORE UPDATE ON p FOR EACH ROW WHEN (new.begin > 0) EXECUTE FUNCTION f()', 'SELECT 2'],
    ],
    ['CREATE PROCEDURE p() BEGIN ATOMIC END; SELECT 2', ['CREATE PROCEDURE p() BEGIN ATOMIC END', 'SELECT 2']],
    ['CREATE TABLE a (trigger int, begin int); SELECT 2', ['CREATE TABLE a (trigger int, begin int)', 'SELECT 2']],
    ['-- a\rSELECT 1; SELECT 2', ['-- a\rSELECT 1', 'SELECT 2']],
    [
      String.raw`SELECT E'it\'s; fine'; SELECT e'\\'; SELECT 3`,
      [String.raw`SELECT E'it\'s; fine'`, String.raw`SELECT e'\\'`, 'SELECT 3'],
    ],
    // To SQLite a backslash is a letter, and to PostgreSQL too, where no E stands before the quote.
    [String.raw`SELECT '\'; SELECT name LIKE'\'`, [String.raw`SELECT '\'`, String.raw`SELECT name LIKE'\'`]],
    ['SELECT 1 /* a /* b */ ; */; SELECT 2', ['SELECT 1 /* a /* b */ ; */', 'SELECT 2']],
    // For SQLite, where they do not nest.
    ['/* src/*.ts */ SELECT 1; /* test/*.ts */ SELECT 2', ['/* src/*.ts */ SELECT 1', '/* test/*.ts */ SELECT 2']],
    ['SELECT 1; /* SELECT 2; SELECT 3', ['SELECT 1', '/* SELECT 2; SELECT 3']],
    ["SELECT 1; SELECT 'a; SELECT 3", ['SELECT 1', "SELECT 'a; SELECT 3"]],
    ['SELECT 1; "a; SELECT 3', ['SELECT 1', '"a; SELECT 3']],
    ['SELECT 1; DO $a$ b; SELECT 3', ['SELECT 1', 'DO $a$ b; SELECT 3']],
    ["SELECT ARRAY['x]', 'y;z']; SELECT 2", ["SELECT ARRAY['x]', 'y;z']", 'SELECT 2']],
    [
      "SELECT ARRAY [['a'], ['x]', 'y;z']], a['x]'], (b)['y;z']; SELECT 2",
      ["SELECT ARRAY [['a'], ['x]', 'y;z']], a['x]'], (b)['y;z']", 'SELECT 2'],
    ],
    [
      "CREATE TABLE [it's; here] ([who's; there] int[][]); SELECT 2",
      ["CREATE TABLE [it's; here] ([who's; there] int[][])", 'SELECT 2'],
    ],
    [
      'CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT (2);); SELECT 3',
      ['CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT (2);)', 'SELECT 3'],
    ],
    [
      'CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3',
      [
        'CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END',
        'SELECT 3',
      ],
    ],
    [
      "CREATE FUNCTION f(begin int) RETURNS int LANGUAGE sql AS 'SELECT 1;'; SELECT 2",
      ["CREATE FUNCTION f(begin int) RETURNS int LANGUAGE sql AS 'SELECT 1;'", 'SELECT 2'],
    ],
    ['SELECT 1 AS a\u00a0; SELECT 2', ['SELECT 1 AS a\u00a0', 'SELECT 2']],
  ])('of %j', (script, statements) => {
    expect(splitStatements(script)).toEqual(statements);
  });
});

test.each([
  ['SELECT 1;', false],
  ['SELECT 1; SELECT 2', true],
  ['SELECT 1; -- nothing', false],
  // To SQLite the end of the text closes it.
  ['SELECT 1; /* nothing', false],
  ["SELECT 1; 'a", true],
])('whether %j is a script in SQLite: %j', (sql, isScript) => expect(isScriptInSqlite(sql)).toBe(isScript));

test.each<[string, ReturnType<typeof savepointIn>]>([
  ['SAVEPOINT a', { does: 'set', name: 'a' }],
  ['RELEASE SAVEPOINT A', { does: 'release', name: 'a' }],
  ['ROLLBACK WORK TO SAVEPOINT "a""b"', { does: 'undo', name: 'a"b' }],
  ["RELEASE 'a''b'", { does: 'release', name: "a'b" }],
  ['SAVEPOINT [a b]', { does: 'set', name: 'a b' }],
  ['SELECT 1', undefined],
])('the savepoint of %j', (sql, savepoint) => expect(savepointIn(sql)).toEqual(savepoint));

describe('statements that control transactions', () => {
  test.each([
    'BEGIN',
    'begin immediate',
    'COMMIT',
    'End',
    'ABORT',
    'ROLLBACK',
    'START  TRANSACTION',
    "PREPARE TRANSACTION 'x'",
    "PREPARE/**/TRANSACTION 'x'",
    'START /* a /* b */ c */ TRANSACTION',
    'START--\nTRANSACTION',
    // SQLite reads a ROLLBACK TO here, and PostgreSQL a ROLLBACK with a comment behind it.
    'ROLLBACK /* /* */ TO a -- */ */',
    'ROLLBACK; TO a',
    '/* a */--b\nCOMMIT',
    '/* a /* b */ c */ COMMIT',
    '/* /* */ */ /*/**/*/ COMMIT',
    // SQLite's comments do not nest, so there this one ends before COMMIT.
    '/* /* */ COMMIT',
    ' ; ;COMMIT',
    '/**/;-- a\n;COMMIT',
    // To PostgreSQL this ends the line.
    '-- a\rCOMMIT',
  ])('are recognised: %j', (sql) => expect(isTransactionControl(sql)).toBe(true));

  test.each([
    'SELECT 1',
    'SAVEPOINT a',
    'RELEASE a',
    'ROLLBACK TO a',
    'rollback transaction to savepoint a',
    'ROLLBACK /* x */ TO a',
    'ROLLBACK -- x\nWORK /* y */ TO a',
    'ending',
    'PREPARE x AS SELECT 1',
    '/* COMMIT',
    '/* /* COMMIT */ */ SELECT 1',
    '-- COMMIT',
    '',
  ])('are not confused with %j', (sql) => expect(isTransactionControl(sql)).toBe(false));

  test.each(['ROLLBACK TO a', ' ROLLBACK WORK TO SAVEPOINT a', 'ROLLBACK /* x */ TO a'])(
    'are distinguished from ROLLBACK TO: %j',
    (sql) => {
      expect(isRollbackTo(sql)).toBe(true);
    },
  );

  test.each(['/* /* */ INSERT -- */ */ ROLLBACK TO a', '/* /* */ ROLLBACK TO a'])(
    'are no ROLLBACK TO when only one of the databases reads one: %j',
    (sql) => expect(isRollbackTo(sql)).toBe(false),
  );
});

describe('PositionalTexts, which put ? for $n', () => {
  const mysql = (sql: string, params: unknown[]): unknown => new PositionalTexts(MYSQL).translate(sql, params);

  test.each([
    ['SELECT $2, $1, $2', ['a', 'b'], 'SELECT ?, ?, ?', ['b', 'a', 'b']],
    [String.raw`SELECT '\'$2', "$3\"", $1`, ['a'], String.raw`SELECT '\'$2', "$3\"", ?`, ['a']],
    [
      "SELECT `$2`, '$3''', a$4, $1 # $5\n-- $6\n/* $7 */",
      ['a'],
      "SELECT `$2`, '$3''', a$4, ? # $5\n-- $6\n/* $7 */",
      ['a'],
    ],
    ['SELECT 5--$1', [1], 'SELECT 5--?', [1]],
  ])('read %j as MySQL does', (sql, params, text, values) => {
    expect(mysql(sql, params)).toEqual({ text, values });
  });

  test('refuse too few and too many parameters', () => {
    for (const params of [[], [1, 2]])
      expect(() => mysql('SELECT $1', params)).toThrow(expect.objectContaining({ sqlState: '08P01' }));
  });

  test('refuse a parameter before the first', () =>
    expect(() => mysql('SELECT $0', [])).toThrow(expect.objectContaining({ sqlState: '42P02' })));
});

test.each([
  ['select 1', 'SELECT'],
  ['/* x */ Insert INTO t VALUES (1)', 'INSERT'],
  ['REPLACE INTO t VALUES (1)', 'INSERT'],
  ['VALUES (1)', 'SELECT'],
  ['WITH "insert" AS (DELETE FROM t RETURNING 1) UPDATE t SET a = 1', 'UPDATE'],
  ['WITH RECURSIVE a (n) AS (SELECT 1) SELECT * FROM a', 'SELECT'],
  ['CREATE TABLE t (id INTEGER)', 'CREATE'],
  ['WITH', 'WITH'],
  ['', ''],
])('the command of %j is %s', (sql, command) => expect(commandOf(sql, POSTGRES)).toBe(command));
