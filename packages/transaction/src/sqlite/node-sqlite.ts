import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { TransactionError } from '../errors.js';
import { ask, losesCommits, type SqliteEngine } from './engine.js';

/** The members of `DatabaseSync` of `node:sqlite` that the pool uses. */
export interface NodeSqlite {
  /** False once it is closed. */
  readonly isOpen: boolean;
  /** True if a transaction is open. */
  readonly isTransaction: boolean;
  /**
   * Runs a statement of this package, such as BEGIN.
   *
   * @param sql - the statement
   */
  exec(sql: string): void;
  /**
   * Prepares a statement of the application.
   *
   * @param sql - the statement
   * @returns a `StatementSync` of `node:sqlite`
   */
  prepare(sql: string): object;
  /** Closes the database. */
  close(): void;
}

interface NodeStatement {
  all(...values: never[]): unknown[];
  run(...values: never[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  columns(): { name: string }[];
  setReadBigInts(on: boolean): void;
  setReturnArrays?(on: boolean): void;
}

interface NodeSqliteModule {
  readonly DatabaseSync: new (path: string, options: { timeout: number }) => NodeSqlite;
}

/** `node:sqlite`, or the package that stands in for it. */
export interface SqliteLibrary {
  /** For `require()` in another thread. */
  readonly location: string;
  readonly version: string;
  open(path: string, busyTimeoutMs: number): SqliteEngine;
}

/** The interface of `node:sqlite`, and a SQLite of its own. */
const STAND_IN = '@photostructure/sqlite';

/** Node gives SQLite's extended result codes as numbers; these are those that SQLite's own names are needed for. */
const NAMES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  9: 'SQLITE_INTERRUPT',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  23: 'SQLITE_AUTH',
  26: 'SQLITE_NOTADB',
  275: 'SQLITE_CONSTRAINT_CHECK',
  787: 'SQLITE_CONSTRAINT_FOREIGNKEY',
  1299: 'SQLITE_CONSTRAINT_NOTNULL',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
  2579: 'SQLITE_CONSTRAINT_ROWID',
};

/** Loaded once, as by an import: a process that has dropped its privileges may not read the package again. */
let loaded: SqliteLibrary | undefined;

/**
 * The SQLite of this Node, unless it is missing or loses commits: then the one of the package that stands in for it, where that is
 * installed. Throws where there is neither.
 */
export function loadSqlite(): SqliteLibrary {
  return (loaded ??= findSqlite());
}

function findSqlite(): SqliteLibrary {
  const own = libraryOf('node:sqlite', process.getBuiltinModule('node:sqlite'));
  if (own && !losesCommits(own.version)) return own;
  const library = standIn() ?? own;
  if (library) return library;
  throw new TransactionError(
    'AMBIT_TX_UNSUPPORTED',
    `Node ${process.versions.node} has no SQLite that this pool can use: run Node 22.16, 24 or newer, or \`npm install ${STAND_IN}@1\``,
  );
}

/** Looked for where the program is and where it runs: `import.meta` would keep Jest, which compiles to CommonJS, from loading this file. */
function standIn(): SqliteLibrary | undefined {
  for (const from of [process.argv[1] ?? '', 'package.json']) {
    const require = createRequire(resolve(from));
    try {
      const location = require.resolve(STAND_IN);
      return libraryOf(location, require(location));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return undefined;
}

/** Undefined where it is missing, or older than what the pool needs. */
function libraryOf(location: string, module: unknown): SqliteLibrary | undefined {
  if (!module) return undefined;
  const { DatabaseSync } = module as NodeSqliteModule;
  const open = (path: string, timeout: number): SqliteEngine =>
    nodeSqliteEngine(named(() => new DatabaseSync(path, { timeout })));
  const memory = new DatabaseSync(':memory:', { timeout: 0 });
  try {
    if (!('setReturnArrays' in memory.prepare('SELECT 1'))) return undefined;
    return { location, version: String(ask(nodeSqliteEngine(memory), 'SELECT sqlite_version()')), open };
  } finally {
    memory.close();
  }
}

/**
 * A `DatabaseSync` of `node:sqlite`, as a pool uses it.
 *
 * @param database - the open database
 * @returns the engine, for `sqlitePoolOver()`
 */
export function nodeSqliteEngine(database: NodeSqlite): SqliteEngine {
  return {
    get isOpen() {
      return database.isOpen;
    },
    get inTransaction() {
      return database.isTransaction;
    },
    exec: (sql) => named(() => database.exec(sql)),
    prepare: (sql) => {
      const statement = named(() => database.prepare(sql)) as NodeStatement;
      statement.setReadBigInts(true);
      if (!statement.setReturnArrays) throw tooOld();
      statement.setReturnArrays(true);
      return {
        isReader: statement.columns().length > 0,
        columns: () => statement.columns().map(({ name }) => name),
        all: (values) => named(() => statement.all(...(values as never[]))) as unknown[][],
        run: (values) => named(() => statement.run(...(values as never[]))),
      };
    },
    close: () => {
      if (database.isOpen) database.close();
    },
  };
}

/** How SQLite begins its messages, for the stand-in, which gives no number where a statement that has rows fails. */
const BEGINNINGS: Readonly<Record<string, number>> = {
  'UNIQUE constraint failed': 2067,
  'NOT NULL constraint failed': 1299,
  'CHECK constraint failed': 275,
  'FOREIGN KEY constraint failed': 787,
  'database is locked': 5,
  'database table is locked': 6,
  'out of memory': 7,
  'attempt to write a readonly database': 8,
  interrupted: 9,
  'disk I/O error': 10,
  'database disk image is malformed': 11,
  'database or disk is full': 13,
  'string or blob too big': 18,
  'datatype mismatch': 20,
};

function named<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw withName(error);
  }
}

/** An error of SQLite with the name of its result code in `code`, where Node has a number. */
export function withName(cause: unknown): unknown {
  const { code: nodeCode, errcode, message } = cause as { code?: string; errcode?: number; message: string };
  if (nodeCode !== 'ERR_SQLITE_ERROR') return cause;
  const beginning = Object.keys(BEGINNINGS).find((text) => message.startsWith(text)) ?? '';
  const number = errcode ?? BEGINNINGS[beginning] ?? 1;
  const code = NAMES[number] ?? NAMES[number & 0xff] ?? 'SQLITE_ERROR';
  return Object.assign(new Error(message, { cause }), { code });
}

function tooOld(): TransactionError {
  return new TransactionError('AMBIT_TX_UNSUPPORTED', 'node:sqlite gives rows as arrays from Node 22.16 and 24 on');
}
