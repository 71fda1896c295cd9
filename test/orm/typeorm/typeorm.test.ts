import type { IContainer } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import { typeormDriver, typeormOn } from '@ambit/orm/typeorm';
import { DataSource, type EntityManager, In } from 'typeorm';
import type { Author, Orm, OrmSession } from '../stories/stage.js';
import { ormStories } from '../stories/stories.js';
import { AuthorEntity, BookEntity, SampleEntity } from './entities.js';

function sessionOf(manager: EntityManager): OrmSession {
  const authors = manager.getRepository(AuthorEntity);
  const books = manager.getRepository(BookEntity);
  const samples = manager.getRepository(SampleEntity);
  const runner = manager.queryRunner!;
  return {
    insertAuthor: (author) => authors.insert(author),
    insertBook: (book) => books.insert(book),
    authors: () => authors.find({ order: { id: 'ASC' } }),
    booksWithAuthors: async () => {
      const found = await books.find({ relations: { author: true } });
      return found.map(({ id, name, author }) => ({ book: { id, name }, author: author! }));
    },
    renameAuthors: async (ids, name) => (await authors.update({ id: In(ids) }, { name })).affected ?? -1,
    renameBook: async (id, version, name) => (await books.update({ id, version }, { name })).affected === 1,
    insertSample: ({ big, ...sample }) => {
      const values: object = { id: 1, ...sample, big: String(big) };
      return samples.insert(values);
    },
    sample: () => samples.findOneByOrFail({ id: 1 }),
    authorNamed: (name) => manager.query('SELECT id, name FROM authors WHERE name = $1', [name]),
    nested: (work) => manager.transaction((inner) => work(sessionOf(inner))),
    async *stream() {
      const rows = await authors
        .createQueryBuilder('a')
        .select(['a.id AS id', 'a.name AS name'])
        .orderBy('a.id')
        .stream();
      yield* rows as AsyncIterable<Author>;
    },
    attempts: {
      commitTransaction: () => runner.commitTransaction(),
      rollbackTransaction: () => runner.rollbackTransaction(),
      'a COMMIT of its own': () => manager.query('COMMIT'),
      'a ROLLBACK of its own': () => runner.query('/* done */ rollback'),
      'await using': () => runner[Symbol.asyncDispose](),
      release: () => runner.release(),
      'an unbalanced commitTransaction': async () => {
        await runner.startTransaction();
        await runner.commitTransaction();
        await runner.commitTransaction();
      },
      'a transaction of the DataSource': () => manager.dataSource.transaction((own) => own.query('SELECT 1')),
      'save() of the DataSource': () => manager.dataSource.manager.save(AuthorEntity, { id: 9, name: 'Eve' }),
      'clear the query runner': async () => {
        await runner.release();
        await authors.insert({ id: 9, name: 'Eve' });
      },
    },
  };
}

const typeorm: Orm = {
  name: 'TypeORM',
  databases: ['PostgreSQL'],
  streams: true,
  async open({ pool }) {
    const entities = [AuthorEntity, BookEntity, SampleEntity];
    const dataSource = await new DataSource({ type: 'postgres', driver: typeormDriver(pool), entities }).initialize();
    return {
      session: (scope: IContainer) => sessionOf(typeormOn(scope.resolve<IConnection>('IConnection'), dataSource)),
      close: () => dataSource.destroy(),
    };
  },
};

ormStories(typeorm);
