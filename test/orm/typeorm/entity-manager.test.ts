import { currentScope, type IContainer, runInScope } from '@ambit/container';
import { type IConnection, isRetryable, runInTransaction } from '@ambit/transaction';
import { typeormDriver, typeormOn } from '@ambit/orm/typeorm';
import {
  BaseEntity,
  DataSource,
  type EntityManager,
  EntitySchema,
  type EntitySubscriberInterface,
  Repository,
} from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { codeOf, createTables, emptyTables } from '../stories/stage.js';
import { type App, openApp } from '../../libraries/app.js';
import { AuthorEntity, BookEntity } from './entities.js';

const ADA = { id: 1, name: 'Ada' };
const BOB = { id: 2, name: 'Bob' };

/** Active Record of the current scope. */
class Author extends BaseEntity {
  declare id: number;
  declare name: string;

  static override getRepository(): never {
    return currentScope().resolve<EntityManager>('EntityManager').getRepository(this) as never;
  }
}
const authorSchema = new EntitySchema<Author>({
  name: 'Author',
  target: Author,
  tableName: 'authors',
  columns: { id: { type: Number, primary: true }, name: { type: String } },
});

/** As NestJS's users write a repository. */
class Authors extends Repository<Author> {
  constructor(dataSource: Pick<DataSource, 'createEntityManager'>) {
    super(Author, dataSource.createEntityManager());
  }
}

describe('TypeORM on the connection of a transaction', () => {
  let dataSource: DataSource;
  let app: App;
  let heard: string[];

  /** The calls of subscribers, and whether others see the author by then. */
  const note = async (event: string): Promise<void> => {
    const seen = await app.pool.query('SELECT id FROM authors');
    heard.push(`${event}, others see ${seen.length}`);
  };
  class Listener implements EntitySubscriberInterface {
    beforeTransactionCommit = (): Promise<void> => note('before commit');
    afterTransactionCommit = (): Promise<void> => note('after commit');
    afterTransactionRollback = (): Promise<void> => note('after rollback');
  }

  beforeAll(async () => {
    app = await openApp('PostgreSQL');
    await createTables(app);
    const driver = typeormDriver(app.pool);
    dataSource = await new DataSource({ type: 'postgres', driver, entities: [AuthorEntity, BookEntity] }).initialize();
    dataSource.subscribers.push(new Listener());
  });
  beforeEach(() => {
    heard = [];
    return emptyTables(app.pool);
  });
  afterAll(async () => {
    await dataSource.destroy();
    await app.drop();
  });

  const inTransaction = <T>(work: (manager: EntityManager, scope: IContainer) => Promise<T>): Promise<T> =>
    runInTransaction(app.container, (scope) =>
      work(typeormOn(scope.resolve<IConnection>('IConnection'), dataSource), scope),
    );
  const authors = (): Promise<object[]> => app.pool.query('SELECT * FROM authors ORDER BY id');

  it('has Active Record and classes that extend Repository, which are undone with it', async () => {
    const driver = typeormDriver(app.pool);
    const own = await new DataSource({ type: 'postgres', driver, entities: [authorSchema] }).initialize();
    const work = runInTransaction(app.container, async (scope) => {
      const manager = typeormOn(scope.resolve<IConnection>('IConnection'), own);
      scope.register('EntityManager', () => manager);
      await runInScope(scope, async () => {
        await Object.assign(new Author(), ADA).save();
        const repository = new Authors({ createEntityManager: () => manager });
        await repository.insert(BOB);
        expect(await Author.count()).toBe(2);
        expect(await repository.findOneBy({ id: 1 })).toMatchObject(ADA);
      });
      throw new Error('undo');
    });
    await expect(work).rejects.toThrow('undo');
    expect(await authors()).toEqual([]);
    await own.destroy();
  });

  it('notifies subscribers of the commit once, when it is one', async () => {
    await inTransaction(async (manager, scope) => {
      await manager.save(AuthorEntity, ADA);
      await manager.transaction((inner) => inner.save(AuthorEntity, BOB));
      await runInTransaction(scope, () => manager.save(AuthorEntity, { id: 3, name: 'Eve' }));
      expect(heard).toEqual([]);
    });
    await expect.poll(() => heard).toEqual(['before commit, others see 0', 'after commit, others see 3']);
  });

  it('notifies subscribers of the rollback once, when all of it is undone', async () => {
    const work = inTransaction(async (manager) => {
      await manager.save(AuthorEntity, ADA);
      const part = manager.transaction(() => Promise.reject(new Error('a part')));
      await expect(part).rejects.toThrow('a part');
      throw new Error('all of it');
    });
    await expect(work).rejects.toThrow('all of it');
    expect(heard).toEqual(['after rollback, others see 0']);
  });

  it('notifies subscribers of the commit also where the manager was made in a nested run that failed', async () => {
    await runInTransaction(app.container, async (scope) => {
      const part = runInTransaction(scope, async () => {
        await typeormOn(scope.resolve<IConnection>('IConnection'), dataSource).save(AuthorEntity, ADA);
        throw new Error('a part');
      });
      await expect(part).rejects.toThrow('a part');
    });
    await expect.poll(() => heard).toEqual(['before commit, others see 0', 'after commit, others see 0']);
  });

  it('nests what startTransaction() begins, and undoes what rollbackTransaction() ends', async () => {
    await inTransaction(async (manager, scope) => {
      const runner = manager.queryRunner!;
      await runner.startTransaction();
      await manager.save(AuthorEntity, ADA);
      await runner.startTransaction('SERIALIZABLE').catch((error: unknown) => {
        expect(codeOf(error)).toBe('AMBIT_TX_NESTED');
      });
      await runner.startTransaction();
      await manager.save(AuthorEntity, BOB);
      const outside = scope.resolve<IConnection>('IConnection').query('SELECT 1');
      await expect(outside).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
      await runner.rollbackTransaction();
      await runner.commitTransaction();
    });
    expect(await authors()).toEqual([ADA]);
  });

  it('can undo what commitTransaction() refused, after a statement of it had failed', async () => {
    await inTransaction(async ({ queryRunner }) => {
      await queryRunner?.startTransaction();
      await expect(queryRunner?.query('SELECT 1 / 0')).rejects.toThrow();
      await expect(queryRunner?.commitTransaction()).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
      await queryRunner?.rollbackTransaction();
      await queryRunner?.manager.save(AuthorEntity, ADA);
    });
    expect(await authors()).toEqual([ADA]);
  });

  it('reads outside of transactions through the pool, and begins none there', async () => {
    await inTransaction((manager) => manager.save(AuthorEntity, ADA));
    expect(await dataSource.manager.find(AuthorEntity)).toEqual([ADA]);
    expect((await dataSource.manager.update(AuthorEntity, { id: 1 }, { name: 'Eve' })).affected).toBe(1);
    const save = dataSource.manager.save(AuthorEntity, BOB);
    await expect(save).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_CONTROL_STATEMENT');
    expect(app.pool.size).toMatchObject({ waiting: 0 });
  });

  it("has the driver's error, with the constraint, and knows what can be retried", async () => {
    const work = inTransaction(async (manager) => {
      await manager.insert(AuthorEntity, ADA);
      await manager.insert(AuthorEntity, ADA);
    });
    await expect(work).rejects.toMatchObject({ code: '23505', table: 'authors', constraint: 'authors_pkey' });
    const conflict = inTransaction((manager) => manager.query("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"));
    await expect(conflict).rejects.toSatisfy(isRetryable);
  });

  it('is refused where the connection is not that of a transaction scope', async () => {
    const connection = await app.pool.getConnection();
    const create = (): EntityManager => typeormOn(connection as IConnection, dataSource);
    expect(create).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
    connection.release();
  });

  it('preloads rows that the transaction has written', async () => {
    await inTransaction(async (manager) => {
      await manager.insert(AuthorEntity, ADA);
      expect(await manager.preload(AuthorEntity, { id: 1, name: 'Countess' })).toEqual({ id: 1, name: 'Countess' });
      expect(await manager.getRepository(AuthorEntity).preload({ id: 2 })).toBeUndefined();
    });
    await expect.poll(() => heard).toContain('after commit, others see 1');
  });
});
