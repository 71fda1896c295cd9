import type { Node } from 'oxc-parser';
import { fieldOf } from './fields.js';
import type { Reference, SourceFile, Variable } from './source-file.js';
import { awaited, is, typeNameOf } from './syntax.js';

/** The library that a pool, a data source or an ORM comes from. */
export type Origin =
  | 'pg'
  | 'postgres'
  | 'mysql'
  | 'knex'
  | 'kysely'
  | 'drizzle'
  | 'typeorm'
  | 'prisma'
  | 'mikro-orm'
  | 'sequelize'
  | 'sqlite'
  | 'slonik'
  | 'ambit'
  | 'nestjs-cls';

const MODULES: readonly (readonly [RegExp, Origin])[] = [
  [/^(?:pg|pg-pool|pg-promise|@neondatabase\/serverless)$/, 'pg'],
  [/^postgres$/, 'postgres'],
  [/^mysql2?(?:\/|$)/, 'mysql'],
  [/^knex$/, 'knex'],
  [/^kysely$/, 'kysely'],
  [/^drizzle-orm\/(?:better-sqlite3|bun-sqlite|expo-sqlite)/, 'sqlite'],
  [/^drizzle-orm(?:\/|$)/, 'drizzle'],
  [/^(?:typeorm|@nestjs\/typeorm)$/, 'typeorm'],
  [/^@prisma\/client/, 'prisma'],
  [/^@mikro-orm\//, 'mikro-orm'],
  [/^sequelize(?:-typescript)?$/, 'sequelize'],
  [/^(?:better-sqlite3|node:sqlite|bun:sqlite|libsql|sqlite3)$/, 'sqlite'],
  [/^slonik$/, 'slonik'],
  [/^@ambit\//, 'ambit'],
  [/^@nestjs-cls\//, 'nestjs-cls'],
];

const TYPES: Readonly<Record<string, Origin>> = {
  DataSource: 'typeorm',
  QueryRunner: 'typeorm',
  PrismaClient: 'prisma',
  PrismaService: 'prisma',
  Kysely: 'kysely',
  KyselyDB: 'kysely',
  Knex: 'knex',
  DatabasePool: 'slonik',
  CommonQueryMethods: 'slonik',
  Sequelize: 'sequelize',
};

/** Types of what gives each query a connection of its own. */
export const isPoolType = (name: string): boolean =>
  /^(?:\w*Pool|DataSource|PrismaClient|PrismaService|Knex|Kysely|Sequelize)$/.test(name);

const moduleOrigin = (from: string): Origin | undefined => MODULES.find(([pattern]) => pattern.test(from))?.[1];

/** The library of a reference, from its type or its first value, where the file tells. */
export function originOf(file: SourceFile, { base, path }: Reference): Origin | undefined {
  if ('isConstant' in base) return path.length === 0 ? originOfVariable(file, base) : undefined;
  const [name] = path;
  const field = path.length === 1 && name !== undefined ? fieldOf(base, name) : undefined;
  return field && (originOfType(file, field.type) ?? (field.init ? originOfValue(file, field.init) : undefined));
}

function originOfVariable(file: SourceFile, variable: Variable): Origin | undefined {
  return originOfType(file, variable.type) ?? (variable.init ? originOfValue(file, variable.init) : undefined);
}

function originOfType(file: SourceFile, type: Node | undefined): Origin | undefined {
  const name = typeNameOf(type);
  if (name === undefined) return undefined;
  const imported = file.moduleVariable(name)?.imported;
  return (imported && moduleOrigin(imported.from)) ?? TYPES[name];
}

/** `new Pool()`, `drizzle(...)`, `mysql.createPool(...)`. */
export function originOfValue(file: SourceFile, init: Node | undefined): Origin | undefined {
  const value = init && awaited(init);
  if (!is(value, 'NewExpression', 'CallExpression')) return undefined;
  let callee: Node = value.callee;
  while (is(callee, 'MemberExpression')) callee = callee.object;
  const imported = file.variableOf(callee)?.imported;
  return imported && moduleOrigin(imported.from);
}
