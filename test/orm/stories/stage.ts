import type { IContainer } from '@ambit/container';
import { runInTransaction, type RunOptions } from '@ambit/transaction';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type App, openApp } from '../../libraries/app.js';
import type { DatabaseKind, DriverName } from '../../libraries/databases.js';
import type { OpenOrm, Orm, OrmSession } from './orm.js';
import { createTables, emptyTables } from './tables.js';

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
  /** What is committed, read past the ORM. */
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
