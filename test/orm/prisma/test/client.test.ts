import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type IConnection, isRetryable, runInTransaction, sqlStateOf, transactionOf } from '@ambit/transaction';
import { prismaAdapter, prismaOn } from '@ambit/orm/prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { codeOf, createTables, emptyTables } from '../../stories/stage.js';
import { type App, openApp } from '../../../libraries/app.js';
import { PrismaClient } from '../generated/client.js';

const ADA = { id: 1, name: 'Ada' };
const BOB = { id: 2, name: 'Bob' };

describe('Prisma on the connection of a transaction', () => {
  let prisma: PrismaClient;
  let app: App;

  beforeAll(async () => {
    app = await openApp('PostgreSQL');
    await createTables(app);
    const schema = new URL(app.address).searchParams.get('options')?.replace('-c search_path=', '');
    prisma = new PrismaClient({
      adapter: prismaAdapter(new PrismaPg({}, { schema: schema! }), app.pool),
      // Shorter than some transactions below.
      transactionOptions: { timeout: 1, maxWait: 1 },
    });
  });
  beforeEach(() => emptyTables(app.pool));
  afterAll(async () => {
    await prisma.$disconnect();
    await app.drop();
  });

  type Client = ReturnType<typeof prismaOn<PrismaClient>>;
  const inTransaction = <T>(work: (client: Client) => Promise<T>): Promise<T> =>
    runInTransaction(app.container, (scope) => work(prismaOn(scope.resolve<IConnection>('IConnection'), prisma)));
  const authors = (): Promise<object[]> => app.pool.query('SELECT * FROM authors ORDER BY id');

  it('has the time limit of the transaction, not that of Prisma', async () => {
    await inTransaction(async (client) => {
      await client.author.create({ data: ADA });
      await client.$queryRaw`SELECT pg_sleep(0.05)::text`;
      await client.author.create({ data: BOB });
    });
    expect(await authors()).toEqual([ADA, BOB]);
  });

  it('keeps what two transactions ask in the same tick apart, also where one of them is in a nested run', async () => {
    await app.pool.query("INSERT INTO authors VALUES (1, 'Ada')");
    const find = (client: Client): Promise<object | null> => client.author.findUnique({ where: { id: 1 } });
    const found = await inTransaction(async (first) => {
      await first.author.update({ where: { id: 1 }, data: { name: 'Eve' } });
      return inTransaction(async (second) => {
        const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
        const { promise: gate, resolve: open } = Promise.withResolvers<void>();
        const nested = second.$transaction(async () => {
          await second.author.count();
          begin();
          await gate;
          return find(second);
        });
        await begun;
        // Prisma sends all of them in the context of the first.
        const others = Promise.all([find(first), find(first), find(prisma)]);
        open();
        return [await nested, ...(await others)];
      });
    });
    expect(found).toEqual([ADA, { id: 1, name: 'Eve' }, { id: 1, name: 'Eve' }, ADA]);
  });

  it('sends what is asked in one tick of one transaction as one SELECT', async () => {
    await app.pool.query("INSERT INTO authors VALUES (1, 'Ada'), (2, 'Bob')");
    const statements: unknown[] = [];
    const note = (message: unknown): void => void statements.push(message);
    subscribe('ambit:transaction:statement', note);
    const found = await inTransaction((client) =>
      Promise.all([1, 2].map((id) => client.author.findUnique({ where: { id } }))),
    );
    unsubscribe('ambit:transaction:statement', note);
    expect(found).toEqual([ADA, BOB]);
    expect(statements).toHaveLength(1);
  });

  it('follows relations, writes nested records, and sends an array of queries in a nested run', async () => {
    await inTransaction(async (client) => {
      await client.author.create({ data: { ...ADA, books: { create: [{ id: 1, name: 'Notes' }] } } });
      expect(await client.author.findUnique({ where: { id: 1 } }).books()).toMatchObject([{ name: 'Notes' }]);
      const [, count] = await client.$transaction([client.author.create({ data: BOB }), client.author.count()]);
      expect(count).toBe(2);
      const part = client.$transaction([
        client.author.create({ data: { id: 3, name: 'Eve' } }),
        client.author.create({ data: BOB }),
      ]);
      await expect(part).rejects.toMatchObject({ code: 'P2002' });
    });
    expect(await authors()).toEqual([ADA, BOB]);
  });

  it('sends a query when it is awaited, like Prisma, and once', async () => {
    await inTransaction(async (client) => {
      void client.author.create({ data: BOB });
      const query = client.author.create({ data: ADA });
      await Promise.all([query, query.then(() => undefined)]);
    });
    expect(await authors()).toEqual([ADA]);
  });

  it('reads and writes outside of transactions through the pool, and begins none there', async () => {
    await prisma.author.create({ data: ADA });
    expect(await prisma.author.findMany()).toEqual([ADA]);
    const both = prisma.$transaction([prisma.author.create({ data: BOB }), prisma.author.count()]);
    await expect(both).rejects.toSatisfy((error) => codeOf(error) === 'AMBIT_TX_CONTROL_STATEMENT');
    expect(await authors()).toEqual([ADA]);
  });

  it("has Prisma's errors, with those of the database as their cause, and knows what can be retried", async () => {
    const duplicate = inTransaction(async (client) => {
      await client.author.create({ data: ADA });
      await client.author.create({ data: ADA });
    });
    await expect(duplicate).rejects.toMatchObject({ code: 'P2002', sqlState: '23505' });
    const conflict = inTransaction((client) => client.$executeRaw`DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`);
    await expect(conflict).rejects.toSatisfy((error) => isRetryable(error) && sqlStateOf(error) === '40001');
  });

  it('leaves nothing of a transaction behind in Prisma', async () => {
    const ends: string[] = [];
    await runInTransaction(app.container, async (scope) => {
      const client = prismaOn(scope.resolve<IConnection>('IConnection'), prisma);
      const part = runInTransaction(scope, async () => {
        await client.author.create({ data: ADA });
        throw new Error('a part');
      });
      await expect(part).rejects.toThrow('a part');
      await client.author.create({ data: BOB });
      transactionOf(scope)?.afterEnd((outcome) => ends.push(outcome));
    });
    expect(await authors()).toEqual([BOB]);
    await expect.poll(() => ends).toEqual(['committed']);
    // It waits for the transactions that Prisma takes for open.
    await prisma.$disconnect();
    expect(await prisma.author.count()).toBe(1);
  });
});
