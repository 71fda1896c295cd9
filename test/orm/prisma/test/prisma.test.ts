import type { IConnection } from '@ambit/transaction';
import { prismaAdapter, prismaOn } from '@ambit/orm/prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import { type Author, type Orm, type OrmSession, SAMPLE } from '../../stories/stage.js';
import { ormStories } from '../../stories/stories.js';
import { type Prisma, PrismaClient } from '../generated/client.js';

type Client = Prisma.TransactionClient & Pick<PrismaClient, '$transaction'>;

function sessionOf(client: Client, outside: PrismaClient): OrmSession {
  const { author, book, sample } = client;
  return {
    insertAuthor: (data) => author.create({ data }),
    insertBook: (data) => book.create({ data }),
    authors: () => author.findMany({ orderBy: { id: 'asc' } }),
    booksWithAuthors: async () => {
      const found = await book.findMany({ include: { author: true } });
      return found.map(({ id, name, author: its }) => ({ book: { id, name }, author: its }));
    },
    renameAuthors: async (ids, name) =>
      (await author.updateMany({ where: { id: { in: [...ids] } }, data: { name } })).count,
    renameBook: async (id, version, name) => {
      const data = { name, version: { increment: 1 } };
      return (await book.updateMany({ where: { id, version }, data })).count === 1;
    },
    insertSample: (data) => sample.create({ data: { id: 1, ...data, data: data.data as Prisma.InputJsonValue } }),
    sample: () => sample.findUniqueOrThrow({ where: { id: 1 } }),
    authorNamed: (name) => client.$queryRaw<Author[]>`SELECT id, name FROM authors WHERE name = ${name}`,
    nested: (work) => client.$transaction((inner) => work(sessionOf(inner as Client, outside))),
    attempts: {
      'a COMMIT of its own': () => client.$executeRawUnsafe('COMMIT'),
      'a ROLLBACK of its own': () => client.$queryRawUnsafe('/* done */ rollback'),
      'a transaction of the client outside': () => outside.$transaction(async (own) => own.author.findMany()),
      'several queries of the client outside': () =>
        outside.$transaction([
          outside.author.create({ data: { id: 9, name: 'Eve' } }),
          outside.author.create({ data: { id: 8, name: 'Eve' } }),
        ]),
      $disconnect: async () => (client as unknown as PrismaClient).$disconnect(),
    },
  };
}

const prisma: Orm = {
  name: 'Prisma',
  databases: ['PostgreSQL'],
  streams: false,
  refused: (error) => (error as Error).cause,
  gives: () => ({ ...SAMPLE }),
  open({ pool, address }) {
    // Prisma writes the schema before the name of each table.
    const schema = new URL(address).searchParams.get('options')?.replace('-c search_path=', '');
    const client = new PrismaClient({ adapter: prismaAdapter(new PrismaPg({}, { schema: schema! }), pool) });
    return {
      session: (scope) => sessionOf(prismaOn(scope.resolve<IConnection>('IConnection'), client), client),
      close: () => client.$disconnect(),
    };
  },
};

ormStories(prisma);
