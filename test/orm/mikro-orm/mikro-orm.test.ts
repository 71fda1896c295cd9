import type { IContainer } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import { mikroOrmDialect, mikroOrmOn } from '@ambit/orm/mikro-orm';
import { MySqlDriver } from '@mikro-orm/mysql';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { type EntityManager, MikroORM, type Options, sql, SqliteDriver } from '@mikro-orm/sql';
import { type Author, type OrmSession, SAMPLE } from '../stories/stage.js';
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
      kind === 'SQLite'
        ? em.insert(SqliteSampleEntity, { id: 1, ...sample, at: sample.at.toISOString() })
        : em.insert(SampleEntity, { id: 1, ...sample }),
    sample: () =>
      kind === 'SQLite' ? em.findOneOrFail(SqliteSampleEntity, { id: 1 }) : em.findOneOrFail(SampleEntity, { id: 1 }),
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

type Driver = readonly [NonNullable<Options['driver']>, 'postgres' | 'sqlite' | 'mysql'];

const DRIVERS: Readonly<Record<'PostgreSQL' | 'SQLite' | 'MariaDB', Driver>> = {
  PostgreSQL: [PostgreSqlDriver, 'postgres'],
  SQLite: [SqliteDriver, 'sqlite'],
  MariaDB: [MySqlDriver, 'mysql'],
};

ormStories({
  name: 'MikroORM',
  databases: ['PostgreSQL', 'SQLite', 'MariaDB'],
  streams: true,
  gives: (kind) => (kind === 'SQLite' ? { ...SAMPLE, at: SAMPLE.at.toISOString() } : SAMPLE),
  open({ kind, pool }) {
    const [driver, dialect] = DRIVERS[kind];
    const entities = [AuthorEntity, BookEntity, kind === 'SQLite' ? SqliteSampleEntity : SampleEntity];
    const driverOptions = mikroOrmDialect(pool, dialect);
    const orm = new MikroORM({ driver, dbName: 'test', entities, driverOptions });
    return {
      session: (scope: IContainer) => sessionOf(mikroOrmOn(scope.resolve<IConnection>('IConnection'), orm), kind),
      close: () => orm.close(),
    };
  },
});
