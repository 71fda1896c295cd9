import type { IContainer } from '@ambit/container';
import { type IDatabasePool, runInTransaction, type RunOptions } from '@ambit/transaction';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { DatabaseKind, DriverName, TestDatabase } from '../../libraries/databases.js';
import { type App, openApp } from '../../libraries/app.js';

export interface Author {
  readonly id: number;
  readonly name: string;
}

interface Book {
  readonly id: number;
  readonly authorId: number;
  readonly name: string;
}

/** One value of each kind that drivers and ORMs treat differently. */
interface Sample {
  readonly at: Date;
  readonly big: bigint;
  readonly data: unknown;
  readonly yes: boolean;
  readonly missing: string | null;
}

/** The same as an ORM gives it. */
export type GivenSample = { readonly [Name in keyof Sample]: unknown };

/** What an application does with its ORM in one transaction, written with the ORM's own means. Every statement is sent at once. */
export interface OrmSession {
  /** Fails when the id is taken. */
  insertAuthor(author: Author): Promise<unknown>;
  insertBook(book: Book): Promise<unknown>;
  /** In the order of their ids. */
  authors(): Promise<Author[]>;
  /** Books and their authors, through one SELECT with a join: both tables have `id` and `name`. */
  booksWithAuthors(): Promise<{ book: { id: number; name: string }; author: Author }[]>;
  /** One UPDATE; resolves to the number of rows that the ORM reports. */
  renameAuthors(ids: readonly number[], name: string): Promise<number>;
  /** One UPDATE of the book with this id and version, which increments the version; false where there is no such book. */
  renameBook(id: number, version: number, name: string): Promise<boolean>;
  insertSample(sample: Sample): Promise<unknown>;
  sample(): Promise<GivenSample>;
  /** SQL as a string; `$1` is the placeholder unless the ORM has another one. */
  authorNamed(name: string): Promise<Author[]>;
  /** The ORM's own nested transaction. */
  nested<T>(work: (session: OrmSession) => Promise<T>): Promise<T>;
  /** All authors in the order of their ids, where the ORM can give rows one by one. */
  stream?(): AsyncIterable<Author>;
  /** Every way in which code might try to begin, commit or roll back the whole transaction past its owner. */
  readonly attempts: Readonly<Record<string, () => Promise<unknown>>>;
}

/** One ORM, as the stories need it. */
export interface Orm {
  readonly name: string;
  readonly databases: readonly DatabaseKind[];
  /** Also on pools over these drivers of PostgreSQL. Default: none. */
  readonly drivers?: readonly DriverName[];
  /** Whether its sessions have `stream()`. */
  readonly streams: boolean;
  /**
   * Set where a nested transaction begins and completes with statements and calls no function of ours: then the code between them can
   * use the library alone, and the rest is refused meanwhile.
   */
  readonly nestsByStatements?: true;
  /** Where its users find the code of a refused statement. Default: in the error itself. */
  readonly refused?: (error: unknown) => unknown;
  /** The values of `SAMPLE` that the ORM's own types change from those of the connection. */
  readonly gives?: (database: DatabaseKind) => Partial<GivenSample>;
  /** Called once per database; what is opened here serves all transactions. */
  open(database: TestDatabase): Promise<OpenOrm> | OpenOrm;
}

interface OpenOrm {
  /** The ORM in a transaction scope, which has the connection as `IConnection`. */
  session(scope: IContainer): OrmSession | Promise<OrmSession>;
  /** The same object of the library outside of transactions, where it has that. */
  onPool?(pool: IDatabasePool): OrmSession;
  close?(): Promise<void>;
}

export const SAMPLE: Sample = {
  at: new Date('2024-02-29T12:34:56.789Z'),
  // A JavaScript number would round it.
  big: 9_007_199_254_740_993n,
  data: { tags: ['a', "b's"], deep: { at: null, n: 1.5 } },
  yes: true,
  missing: null,
};

/** `SAMPLE` as the connection gives it. */
export const ofConnection = (database: DatabaseKind): GivenSample => ({
  ...SAMPLE,
  big: String(SAMPLE.big),
  ...(database !== 'PostgreSQL' && { yes: 1 }),
  ...(database === 'SQLite' && { at: SAMPLE.at.toISOString(), data: JSON.stringify(SAMPLE.data) }),
});

/** The code of our error, which some ORMs wrap in an error of their own, or copy into one. */
export function codeOf(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = wrappedIn(at)) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('AMBIT_')) return code;
  }
  return undefined;
}

function wrappedIn(error: Error & { driverError?: unknown }): unknown {
  return error.driverError ?? error.cause;
}

const TYPES: Readonly<Record<DatabaseKind, { at: string; big: string; data: string; yes: string }>> = {
  PostgreSQL: { at: 'TIMESTAMPTZ', big: 'BIGINT', data: 'JSONB', yes: 'BOOLEAN' },
  SQLite: { at: 'TEXT', big: 'INTEGER', data: 'TEXT', yes: 'INTEGER' },
  MariaDB: { at: 'DATETIME(3)', big: 'BIGINT', data: 'JSON', yes: 'BOOLEAN' },
};

export async function createTables({ kind, pool }: TestDatabase): Promise<void> {
  const { at, big, data, yes } = TYPES[kind];
  await pool.query('CREATE TABLE authors (id INTEGER PRIMARY KEY, name VARCHAR(100) NOT NULL)');
  await pool.query(
    'CREATE TABLE books (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES authors (id), name VARCHAR(100) NOT NULL, version INTEGER NOT NULL DEFAULT 1)',
  );
  await pool.query(
    `CREATE TABLE samples (id INTEGER PRIMARY KEY, at ${at} NOT NULL, big ${big} NOT NULL, data ${data} NOT NULL, yes ${yes} NOT NULL, missing VARCHAR(100))`,
  );
}

export async function emptyTables(pool: IDatabasePool): Promise<void> {
  for (const table of ['samples', 'books', 'authors']) await pool.query(`DELETE FROM ${table}`);
}

export const ADA = { id: 1, name: 'Ada' };
export const BOB = { id: 2, name: 'Bob' };
export const NOTES = { id: 1, authorId: 1, name: 'Notes' };

/** An ORM on a database with empty tables. Its `app` and `opened` are there while the tests run. */
export interface Stage {
  readonly orm: Orm;
  readonly kind: DatabaseKind;
  /** The pool has one connection, so that nothing else can be read while a transaction is open. */
  readonly hasOneConnection: boolean;
  readonly app: App;
  readonly opened: OpenOrm;
  /** Runs the work in a transaction, with the ORM in its scope. */
  inTransaction<T>(
    this: void,
    work: (session: OrmSession, scope: IContainer) => Promise<T>,
    options?: RunOptions,
  ): Promise<T>;
  /** The committed authors, read past the ORM. */
  committedAuthors(this: void): Promise<object[]>;
}

/** Opens the stage before the tests of this `describe`, and closes it after them. */
export function openStage(orm: Orm, kind: DatabaseKind, driver?: DriverName): Stage {
  let app: App;
  let opened: OpenOrm;
  beforeAll(async () => {
    app = await openApp(kind, driver);
    await createTables(app);
    opened = await orm.open(app);
  });
  beforeEach(() => emptyTables(app.pool));
  afterAll(async () => {
    await opened.close?.();
    await app.drop();
  });
  return {
    orm,
    kind,
    hasOneConnection: driver === 'PGlite',
    get app() {
      return app;
    },
    get opened() {
      return opened;
    },
    inTransaction: (work, options = {}) =>
      runInTransaction(app.container, async (scope) => work(await opened.session(scope), scope), options),
    committedAuthors: () => app.pool.query('SELECT id, name FROM authors ORDER BY id'),
  };
}
