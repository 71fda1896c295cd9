import type { IContainer } from '@ambit/container';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { mikroOrmDialect, mikroOrmOn } from '@ambit/orm/mikro-orm';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { type EntityManager, MikroORM, sql, SqliteDriver } from '@mikro-orm/sql';
import { type Author, type Orm, type OrmSession, SAMPLE } from '../stories/stage.js';
import { ormStories } from '../stories/stories.js';
import type { DatabaseKind } from '../../libraries/databases.js';
import { AuthorEntity, BookEntity, SampleEntity, SqliteSampleEntity } from './entities.js';

function sessionOf(em: EntityManager, kind: DatabaseKind): OrmSession {
  return {
    insertAuthor: (author) => em.insert(AuthorEntity, author),
    insertBook: ({ authorId, ...book }) => em.insert(BookEntity, { ...book, author: authorId, version: 1 }),
    authors: async () => {
      const found = await em.find(AuthorEntity, {}, { orderBy: { id: 'asc' }, refresh: true });
      return found.map(({ id, name }) => ({ id, name }));
    },
    booksWithAuthors: async () => {
      const found = await em.find(BookEntity, {}, { populate: ['author'], strategy: 'joined' });
      return found.map(({ id, name, author }) => ({
        book: { id, name },
        author: { id: author.id, name: author.name },
      }));
    },
    renameAuthors: (ids, name) => em.nativeUpdate(AuthorEntity, { id: { $in: [...ids] } }, { name }),
    renameBook: async (id, version, name) =>
      (await em.nativeUpdate(BookEntity, { id, version }, { name, version: sql<number>`version + 1` })) === 1,
    insertSample: (sample) =>
      kind === 'PostgreSQL'
        ? em.insert(SampleEntity, { id: 1, ...sample })
        : em.insert(SqliteSampleEntity, { id: 1, ...sample, at: sample.at.toISOString() }),
    sample: () =>
      kind === 'PostgreSQL'
        ? em.findOneOrFail(SampleEntity, { id: 1 })
        : em.findOneOrFail(SqliteSampleEntity, { id: 1 }),
    authorNamed: (name) => em.execute<Author[]>('SELECT id, name FROM authors WHERE name = ?', [name]),
    nested: (work) => em.transactional((inner) => work(sessionOf(inner, kind))),
    async *stream() {
      for await (const { id, name } of em.stream(AuthorEntity, { orderBy: { id: 'asc' } })) yield { id, name };
    },
    attempts: {
      commit: () => em.commit(),
      rollback: () => em.rollback(),
      'begin and commit': () => em.begin().then(() => em.commit()),
      'a COMMIT of its own': () => em.execute('COMMIT'),
      'a ROLLBACK of its own': () => em.execute('/* done */ rollback'),
      'a transaction of the connection': () => em.getConnection().transactional(() => Promise.resolve()),
      REQUIRES_NEW: () => em.transactional(() => Promise.resolve(), { propagation: 'requires_new' }),
      'NOT_SUPPORTED and a COMMIT': () =>
        em.transactional((outside) => outside.execute('COMMIT'), { propagation: 'not_supported' }),
      'a commit of Kysely': async () => {
        const kysely = em.getKysely() as unknown as { commit(): { execute(): Promise<void> } };
        await kysely.commit().execute();
      },
    },
  };
}

interface OpenMikroOrm {
  readonly orm: { close(): Promise<void> };
  on(connection: IConnection): EntityManager;
}

const mikroOrm: Orm = {
  name: 'MikroORM',
  databases: ['PostgreSQL', 'SQLite'],
  streams: true,
  gives: (kind) => (kind === 'PostgreSQL' ? SAMPLE : { ...SAMPLE, at: SAMPLE.at.toISOString() }),
  open({ kind, pool }) {
    const { orm, on } = kind === 'PostgreSQL' ? postgres(pool) : sqlite(pool);
    return {
      session: (scope: IContainer) => sessionOf(on(scope.resolve<IConnection>('IConnection')), kind),
      close: () => orm.close(),
    };
  },
};

function postgres(pool: IDatabasePool): OpenMikroOrm {
  const entities = [AuthorEntity, BookEntity, SampleEntity];
  const driverOptions = mikroOrmDialect(pool);
  const orm = new MikroORM({ driver: PostgreSqlDriver, dbName: 'test', entities, driverOptions });
  return { orm, on: (connection) => mikroOrmOn(connection, orm) };
}

function sqlite(pool: IDatabasePool): OpenMikroOrm {
  const entities = [AuthorEntity, BookEntity, SqliteSampleEntity];
  const driverOptions = mikroOrmDialect(pool, 'sqlite');
  const orm = new MikroORM({ driver: SqliteDriver, dbName: 'test', entities, driverOptions });
  return { orm, on: (connection) => mikroOrmOn(connection, orm) };
}

ormStories(mikroOrm);
