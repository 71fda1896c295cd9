import { Container, currentScope, type IContainer, runInScope } from '@ambit/container';
import { type IConnection, isRetryable, runInTransaction } from '@ambit/transaction';
import { mikroOrmDialect, mikroOrmOn } from '@ambit/orm/mikro-orm';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { PostgreSqlDriver, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import { type EntityManager, MikroORM } from '@mikro-orm/sql';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { codeOf, createTables, emptyTables } from '../stories/stage.js';
import { type App, openApp } from '../../libraries/app.js';
import { AuthorEntity, BookEntity } from './entities.js';

const ADA = { id: 1, name: 'Ada' };
const BOB = { id: 2, name: 'Bob' };

describe('MikroORM on the connection of a transaction', () => {
  let orm: MikroORM<PostgreSqlDriver>;
  let app: App;

  beforeAll(async () => {
    app = await openApp('PostgreSQL');
    await createTables(app);
    orm = new MikroORM({
      driver: PostgreSqlDriver,
      dbName: 'test',
      entities: [AuthorEntity, BookEntity],
      driverOptions: mikroOrmDialect(app.pool),
    });
  });
  beforeEach(() => emptyTables(app.pool));
  afterAll(async () => {
    await orm.close();
    await app.drop();
  });

  const entityManager = (scope: IContainer): EntityManager =>
    mikroOrmOn(scope.resolve<IConnection>('IConnection'), orm);
  const inTransaction = <T>(work: (em: EntityManager, scope: IContainer) => Promise<T>): Promise<T> =>
    runInTransaction(app.container, (scope) => work(entityManager(scope), scope));
  const authors = (): Promise<object[]> => app.pool.query('SELECT * FROM authors ORDER BY id');

  it('flushes before COMMIT', async () => {
    await inTransaction(async (em) => {
      em.create(AuthorEntity, ADA);
    });
    expect(await authors()).toEqual([ADA]);
    await inTransaction(async (em) => {
      (await em.findOneOrFail(AuthorEntity, 1)).name = 'Eve';
    });
    expect(await authors()).toEqual([{ id: 1, name: 'Eve' }]);
  });

  it('is what the option `context` of MikroORM finds in the current scope', async () => {
    const own = new MikroORM({
      driver: PostgreSqlDriver,
      dbName: 'test',
      entities: [AuthorEntity, BookEntity],
      driverOptions: mikroOrmDialect(app.pool),
      context: () => currentScope(undefined)?.resolve<EntityManager>('em'),
    });
    await runInTransaction(app.container, async (scope) => {
      scope.register('em', () => mikroOrmOn(scope.resolve<IConnection>('IConnection'), own));
      await runInScope(scope, async () => {
        own.em.create(AuthorEntity, ADA);
      });
    });
    expect(await authors()).toEqual([ADA]);
    await own.close();
  });

  it('rolls back where the flush fails, and the caller gets its error', async () => {
    await app.pool.query("INSERT INTO authors VALUES (1, 'Ada')");
    const work = inTransaction(async (em) => {
      em.create(AuthorEntity, BOB);
      em.create(AuthorEntity, ADA);
    });
    await expect(work).rejects.toBeInstanceOf(UniqueConstraintViolationException);
    expect(await authors()).toEqual([ADA]);
  });

  it('does not flush when the work rejects', async () => {
    const work = inTransaction(async (em) => {
      em.create(AuthorEntity, ADA);
      throw new Error('changed my mind');
    });
    await expect(work).rejects.toThrow('changed my mind');
    expect(await authors()).toEqual([]);
  });

  it('flushes also where the entity manager was made in a nested run that failed', async () => {
    await runInTransaction(app.container, async (scope) => {
      let em: EntityManager | undefined;
      const part = runInTransaction(scope, async () => {
        em = entityManager(scope);
        throw new Error('a part');
      });
      await expect(part).rejects.toThrow('a part');
      em?.create(AuthorEntity, ADA);
    });
    expect(await authors()).toEqual([ADA]);
  });

  it('forgets the changes of em.transactional() that rejects, and keeps those around it', async () => {
    await inTransaction(async (em) => {
      em.create(AuthorEntity, ADA);
      await em.flush();
      const part = em.transactional(async (inner) => {
        inner.create(AuthorEntity, BOB);
        await inner.flush();
        throw new Error('a part');
      });
      await expect(part).rejects.toThrow('a part');
    });
    expect(await authors()).toEqual([ADA]);
  });

  it('has an identity map for each transaction', async () => {
    await app.pool.query("INSERT INTO authors VALUES (1, 'Ada')");
    const [first, second] = await Promise.all([
      inTransaction((em) => em.findOneOrFail(AuthorEntity, 1)),
      inTransaction((em) => em.findOneOrFail(AuthorEntity, 1)),
    ]);
    expect(first).not.toBe(second);
    expect(orm.em.getUnitOfWork(false).getIdentityMap().keys()).toEqual([]);
  });

  it('reads outside of transactions through the pool, and begins none there', async () => {
    await inTransaction((em) => em.insert(AuthorEntity, ADA));
    const em = orm.em.fork();
    expect(await em.count(AuthorEntity)).toBe(1);
    em.create(AuthorEntity, BOB);
    await expect(em.flush()).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_CONTROL_STATEMENT');
    expect(app.pool.size).toMatchObject({ waiting: 0 });
  });

  it('prepares no statements, because the values are in their text', async () => {
    const names = await inTransaction(async (em) => {
      for (let id = 1; id <= 3; id += 1) await em.find(AuthorEntity, { id });
      return em.execute<{ statement: string }[]>(
        "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%authors%a0%'",
      );
    });
    expect(names.filter(({ statement }) => !statement.includes('pg_prepared'))).toEqual([]);
  });

  it('gives dates as text to MikroORM, arrays of them too', async () => {
    const [row] = await inTransaction((em) =>
      em.execute(
        "SELECT DATE '2024-02-29' AS day, ARRAY[TIMESTAMP '2024-02-29 12:00:00', NULL] AS moments, 1.5::float8 AS n",
      ),
    );
    expect(row).toEqual({ day: '2024-02-29', moments: ['2024-02-29 12:00:00', null], n: 1.5 });
  });

  it('connects in its first transaction without a connection of its own', async () => {
    const single = createPostgresPool({ connectionString: app.address, max: 1, acquireTimeoutMs: 5000 });
    const lazy = new MikroORM({
      driver: PostgreSqlDriver,
      dbName: 'no such database',
      entities: [AuthorEntity, BookEntity],
      driverOptions: mikroOrmDialect(single),
    });
    const container = new Container();
    container.register('IDatabasePool', () => single);
    const count = runInTransaction(container, (scope) =>
      mikroOrmOn(scope.resolve<IConnection>('IConnection'), lazy).count(AuthorEntity),
    );
    await expect(count).resolves.toBe(0);
    await lazy.close();
    await single.close();
  });

  it('knows what can be retried', async () => {
    const conflict = inTransaction((em) => em.execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"));
    await expect(conflict).rejects.toSatisfy(isRetryable);
  });

  it('is refused for an ORM with a pool of its own', async () => {
    const other = new MikroORM({ driver: PostgreSqlDriver, dbName: 'test', entities: [AuthorEntity, BookEntity] });
    const work = runInTransaction(app.container, async (scope) =>
      mikroOrmOn(scope.resolve<IConnection>('IConnection'), other),
    );
    await expect(work).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
    await other.close();
  });
});
