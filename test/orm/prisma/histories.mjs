// @ts-check
// Prisma's part of test/histories/orms.mjs. It is here, where Prisma's packages are.
import { prismaAdapter, prismaOn } from '@ambit/orm/prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';

/** @param {any} client @returns {import('../../histories/subjects.mjs').Session} */
function prismaSession(client) {
  return {
    append: (key, added) => client.$executeRaw`UPDATE lists SET items = items || ${added} WHERE k = ${key}`,
    read: async (k) => (await client.list.findUniqueOrThrow({ where: { k } })).items,
    insert: (k, element) => client.member.create({ data: { element, k } }),
    select: async (first, last) => {
      const members = await client.member.findMany({ where: { k: { gte: first, lte: last } } });
      return members.map((/** @type {{ element: number }} */ { element }) => element);
    },
    nested: (work) => client.$transaction((/** @type {any} */ inner) => work(prismaSession(inner))),
  };
}

/**
 * @param {import('@ambit/transaction').IDatabasePool} pool
 * @param {string} address
 * @returns {import('../../histories/orms.mjs').OpenOrm}
 */
export function openPrisma(pool, address) {
  // Prisma writes the schema before the name of each table.
  const schema = /search_path=(\w+)/.exec(new URL(address).searchParams.get('options') ?? '')?.[1] ?? '';
  const client = new PrismaClient({ adapter: prismaAdapter(new PrismaPg({}, { schema }), pool) });
  return {
    session: (scope) => prismaSession(prismaOn(scope.resolve('IConnection'), client)),
    close: () => client.$disconnect(),
  };
}
