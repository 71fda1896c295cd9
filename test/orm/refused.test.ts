import { knexOn } from '@ambit/orm/knex';
import { kyselyOn } from '@ambit/orm/kysely';
import { prismaAdapter } from '@ambit/orm/prisma';
import { typeormDriver } from '@ambit/orm/typeorm';
import { FakePool } from '@ambit/transaction/testing';
import { DataSource } from 'typeorm';
import { expect, it } from 'vitest';

const pool = new FakePool();

// docs/guides/orms.md#what-does-not-work
it.each<[string, () => unknown, RegExp]>([
  [
    'TypeORM on MySQL',
    () => new DataSource({ type: 'mysql', driver: typeormDriver(pool) }).initialize(),
    /DataSource of type 'postgres' only/,
  ],
  ['Knex on MySQL', () => knexOn(pool, { client: 'mysql2' as never }), /client must be pg or sqlite3, not mysql2/],
  ['another dialect of Kysely', () => kyselyOn(pool, { dialect: 'mssql' as never }), /postgres, sqlite, mysql/],
  // As the one of its adapter for `pg` is, which has no `connect()`.
  ['Prisma 5', () => prismaAdapter({ provider: 'postgres' } as never, pool), /PrismaPg .*, from version 6\.16 on/],
])('%s is refused, and the error says what works', async (_what, use, says) => {
  await expect((async () => use())()).rejects.toMatchObject({
    code: 'AMBIT_OPTION',
    message: expect.stringMatching(says),
  });
});
