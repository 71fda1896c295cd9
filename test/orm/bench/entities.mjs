// What the entity ORMs cost on a transaction's connection, in CPU time of this process, so that other work on the machine
// hardly matters: node tools/on-node.mjs 24 test/orm/bench/entities.mjs
// Needs `node test/libraries/prepare.mjs` before, and PostgreSQL at DATABASE_URL.
import { Container, Registration, singleton } from '@ambit/container';
import { runInTransaction } from '@ambit/transaction';
import { mikroOrmDialect, mikroOrmOn } from '@ambit/orm/mikro-orm';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { typeormDriver, typeormOn } from '@ambit/orm/typeorm';
import { defineEntity, MikroORM, p } from '@mikro-orm/core';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { DataSource, EntitySchema } from 'typeorm';

const connectionString = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const ROUNDS = 15;
const CREATED = 300;
const READ = 100;
const TABLE = 'ambit_bench_entities';

const Row = new EntitySchema({
  name: 'row',
  tableName: TABLE,
  columns: { id: { type: 'int', primary: true }, name: { type: 'text' } },
});
const MikroRow = defineEntity({
  name: 'Row',
  tableName: TABLE,
  properties: { id: p.integer().primary(), name: p.string() },
});

const app = new Container();
app.addRegistration(
  Registration.fromFactory(() => createPostgresPool({ connectionString, max: 1 }))
    .pipe(singleton())
    .to('IDatabasePool'),
);
const pool = app.resolve('IDatabasePool');
await pool.query(`CREATE TABLE ${TABLE} (id INTEGER PRIMARY KEY, name TEXT NOT NULL)`);
const typeorm = await new DataSource({ type: 'postgres', driver: typeormDriver(pool), entities: [Row] }).initialize();
const ownTypeorm = await new DataSource({ type: 'postgres', url: connectionString, entities: [Row] }).initialize();
const mikroOrm = new MikroORM({
  driver: PostgreSqlDriver,
  dbName: 'bench',
  entities: [MikroRow],
  driverOptions: mikroOrmDialect(pool),
  ensureDatabase: false,
});
const ownMikroOrm = new MikroORM({ driver: PostgreSqlDriver, clientUrl: connectionString, entities: [MikroRow] });

/** @param {() => unknown} work @param {number} times */
async function cpuPerCall(work, times) {
  const start = process.cpuUsage();
  for (let index = 0; index < times; index += 1) await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / times;
}

/** @param {(connection: import('@ambit/transaction').IConnection) => Promise<number>} work */
const inTransaction = (work) => () => runInTransaction(app, (scope) => work(scope.resolve('IConnection')));
/** @param {import('typeorm').EntityManager} manager */
const readWithTypeorm = (manager) => cpuPerCall(() => manager.findOneBy(Row, { id: 1 }), READ);
/** @param {import('@mikro-orm/core').EntityManager} em */
const readWithMikroOrm = (em) => cpuPerCall(() => em.findOne(MikroRow, { id: 1 }, { refresh: true }), READ);

/** @type {Record<string, () => Promise<number>>} */
const contestants = {
  'creating: typeormOn()': inTransaction((connection) => cpuPerCall(() => typeormOn(connection, typeorm), CREATED)),
  'creating: mikroOrmOn()': inTransaction((connection) => cpuPerCall(() => mikroOrmOn(connection, mikroOrm), CREATED)),
  'creating: em.fork() of MikroORM alone': () => cpuPerCall(() => mikroOrm.em.fork(), CREATED),
  'reading: TypeORM, typeormOn()': inTransaction((connection) => readWithTypeorm(typeormOn(connection, typeorm))),
  'reading: TypeORM on its own driver': () => ownTypeorm.transaction(readWithTypeorm),
  'reading: MikroORM, mikroOrmOn()': inTransaction((connection) => readWithMikroOrm(mikroOrmOn(connection, mikroOrm))),
  'reading: MikroORM on its own driver': () => ownMikroOrm.em.fork().transactional(readWithMikroOrm),
};
try {
  await pool.query(`INSERT INTO ${TABLE} VALUES (1, 'one')`);
  /** @type {Record<string, number>} */
  const best = {};
  // Each in turn, round after round; the least disturbed round of each counts.
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, measure] of Object.entries(contestants))
      best[name] = Math.min(best[name] ?? Infinity, await measure());
  }
  for (const [name, microseconds] of Object.entries(best))
    console.log(`${name.padEnd(40)} ${microseconds.toFixed(1)} µs`);
} finally {
  await pool.query(`DROP TABLE ${TABLE}`);
  await Promise.all([typeorm.destroy(), ownTypeorm.destroy(), mikroOrm.close(), ownMikroOrm.close()]);
  await app.dispose();
}
