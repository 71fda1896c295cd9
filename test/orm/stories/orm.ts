import type { IContainer } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import type { DatabaseKind, DriverName, TestDatabase } from '../../libraries/databases.js';

export interface Author {
  readonly id: number;
  readonly name: string;
}

export interface Book {
  readonly id: number;
  readonly authorId: number;
  readonly name: string;
}

/** One value of each kind that drivers and ORMs treat differently. */
export interface Sample {
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

export interface OpenOrm {
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
  ...(database === 'SQLite' && { at: SAMPLE.at.toISOString(), data: JSON.stringify(SAMPLE.data), yes: 1 }),
});
