// Proves on one library that a transaction which commits stores its row, and that one which rolls back does not: node programs.mjs kysely
// A project has only the library of its line, so each program imports its packages when it runs.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Container, Registration, singleton } from '@ambit/container';
import { runInTransaction } from '@ambit/transaction';

const databaseUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
/** A table of its own for each program: several run at the same time. */
const TABLE = `beside_${process.pid}`;
const mariadbUrl = process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306';

/** Its driver is loaded only where it is installed. */
async function postgres() {
  const { createPostgresPool } = await import('@ambit/transaction/postgres');
  return createPostgresPool({ connectionString: databaseUrl });
}

/**
 * `store` adds a row to `TABLE`, which has the column `id`; `nested`, where the library has nested transactions, runs one that fails and is undone alone.
 * @param {import('@ambit/transaction').IDatabasePool} pool it is closed in the end
 * @param {(connection: import('@ambit/transaction').IConnection, id: string) => PromiseLike<unknown>} store
 * @param {(connection: import('@ambit/transaction').IConnection, id: string) => PromiseLike<unknown>} [nested]
 */
async function prove(pool, store, nested) {
  const app = new Container();
  app.addRegistration(
    Registration.fromFactory(() => pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
  /** @param {(connection: import('@ambit/transaction').IConnection) => PromiseLike<unknown>} work */
  const transaction = (work) => runInTransaction(app, async (scope) => work(scope.resolve('IConnection')));
  await pool.query(`DROP TABLE IF EXISTS ${TABLE}`);
  await pool.query(`CREATE TABLE ${TABLE} (id VARCHAR(20) PRIMARY KEY)`);
  try {
    await transaction((connection) => store(connection, 'committed'));
    const undone = transaction(async (connection) => {
      await store(connection, 'rolled back');
      throw new Error('roll back');
    });
    await assert.rejects(undone, { message: 'roll back' });
    if (nested)
      await transaction(async (connection) => {
        await store(connection, 'outer');
        await assert.rejects(async () => nested(connection, 'inner'), /undo/);
      });
    const rows = await pool.query(`SELECT id FROM ${TABLE} ORDER BY id`);
    assert.deepEqual(
      rows.map(({ id }) => id),
      nested ? ['committed', 'outer'] : ['committed'],
    );
  } finally {
    await pool.query(`DROP TABLE ${TABLE}`);
    await app.dispose();
  }
}

/** The application container, with a database in memory. */
async function application() {
  const { createSqlitePool } = await import('@ambit/transaction/sqlite');
  const pool = createSqlitePool({ path: ':memory:' });
  await pool.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  return new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
}

/** The work of the route: an order named `refused` fails after it was stored. */
async function storeOrder(transactionScope, id) {
  await transactionScope.resolve('IConnection').query('INSERT INTO orders VALUES ($1)', [id]);
  if (id === 'refused') throw new Error('refused');
}

/** `url` has the route `POST /orders/:id`. */
async function proveHost(url, container) {
  const send = async (id) => (await fetch(`${url}/orders/${id}`, { method: 'POST' })).status;
  assert.equal(await send('stored'), 201);
  assert.equal(await send('refused'), 500);
  assert.deepEqual(await container.resolve('IDatabasePool').query('SELECT id FROM orders'), [{ id: 'stored' }]);
}

/** By the names of the libraries. @type {Record<string, () => Promise<void>>} */
const PROGRAMS = {
  async 'better-sqlite3'() {
    const { fromBetterSqlite3 } = await import('@ambit/drivers/better-sqlite3');
    const { default: Database } = await import('better-sqlite3');

    const pool = fromBetterSqlite3(new Database(':memory:', { timeout: 0 }));
    await prove(pool, (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]));
  },

  async 'drizzle-orm'() {
    const { drizzleOn } = await import('@ambit/orm/drizzle');
    const { drizzleOn: drizzleOnSqlite } = await import('@ambit/orm/drizzle/sqlite');
    const { createSqlitePool } = await import('@ambit/transaction/sqlite');
    const pgCore = await import('drizzle-orm/pg-core');
    const sqliteCore = await import('drizzle-orm/sqlite-core');

    const onPostgres = pgCore.pgTable(TABLE, { id: pgCore.varchar('id', { length: 20 }).primaryKey() });
    const onSqlite = sqliteCore.sqliteTable(TABLE, { id: sqliteCore.text('id').primaryKey() });

    for (const [on, table, pool] of [
      [drizzleOn, onPostgres, await postgres()],
      [drizzleOnSqlite, onSqlite, createSqlitePool({ path: ':memory:' })],
    ]) {
      await prove(
        pool,
        (connection, id) => on(connection).insert(table).values({ id }),
        (connection, id) =>
          on(connection).transaction(async (inner) => {
            await inner.insert(table).values({ id });
            throw new Error('undo');
          }),
      );
    }
  },

  async express() {
    const { containerMiddleware, requireTransactionScope, withDeps, withTransaction } = await import('@ambit/express');
    const { inspectorMiddleware } = await import('@ambit/inspector/express');
    const { default: express } = await import('express');

    const container = await application();
    const app = express();
    app.use(inspectorMiddleware({ container, enabled: true, token: 'a token of 16 characters' }));
    app.use(containerMiddleware(container));
    const store = async (req, res) => {
      await storeOrder(requireTransactionScope(req), req.params.id);
      res.status(201).end();
    };
    // Express 4 does not see that an async handler rejects.
    app.post(
      '/orders/:id',
      withTransaction(),
      (req, res, next) => void withDeps({}, () => store(req, res))(req, res, next),
    );
    app.use((error, _req, res, _next) => {
      if (error.message !== 'refused') console.error(error);
      res.statusCode = 500;
      res.end();
    });
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await proveHost(`http://127.0.0.1:${server.address().port}`, container);
    server.close();
    server.closeAllConnections();
    await container.dispose();
  },

  async fastify() {
    const { containerPlugin, requireTransactionScope, transactionPlugin } = await import('@ambit/fastify');
    const { inspectorPlugin } = await import('@ambit/inspector/fastify');
    const { fastify } = await import('fastify');

    const container = await application();
    const server = fastify();
    await server.register(inspectorPlugin, { container, enabled: true, token: 'a token of 16 characters' });
    await server.register(containerPlugin, { container });
    await server.register(transactionPlugin);
    server.post('/orders/:id', { config: { transaction: true } }, async (request, reply) => {
      await storeOrder(requireTransactionScope(request), request.params.id);
      return reply.code(201).send();
    });
    server.post('/by-call/:id', async (request, reply) => {
      await storeOrder(await request.startTransaction(), request.params.id);
      await request.commitTransaction();
      return reply.code(201).send();
    });
    await server.listen({ port: 0, host: '127.0.0.1' });
    await proveHost(`http://127.0.0.1:${server.server.address().port}`, container);
    await server.close();
  },

  async hono() {
    const { serve } = await import('@hono/node-server');
    const { containerMiddleware, requireTransactionScope, withTransaction } = await import('@ambit/hono');
    const { Hono } = await import('hono');

    const container = await application();
    const app = new Hono();
    app.use('*', containerMiddleware(container));
    app.post('/orders/:id', withTransaction(), async (c) => {
      await storeOrder(requireTransactionScope(c), c.req.param('id'));
      return c.body(null, 201);
    });
    app.onError((error, c) => {
      if (error.message !== 'refused') console.error(error);
      return c.body(null, 500);
    });
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
    await once(server, 'listening');
    await proveHost(`http://127.0.0.1:${server.address().port}`, container);
    server.close();
    await container.dispose();
  },

  async knex() {
    const { knexOn } = await import('@ambit/orm/knex');
    const { createSqlitePool } = await import('@ambit/transaction/sqlite');

    for (const [client, pool] of /** @type {const} */ ([
      ['pg', await postgres()],
      ['sqlite3', createSqlitePool({ path: ':memory:' })],
    ])) {
      await prove(
        pool,
        (connection, id) => knexOn(connection, { client })(TABLE).insert({ id }),
        (connection, id) =>
          knexOn(connection, { client }).transaction(async (inner) => {
            await inner(TABLE).insert({ id });
            throw new Error('undo');
          }),
      );
    }
  },

  async kysely() {
    const { kyselyOn } = await import('@ambit/orm/kysely');
    const { createSqlitePool } = await import('@ambit/transaction/sqlite');

    for (const [dialect, pool] of /** @type {const} */ ([
      ['postgres', await postgres()],
      ['sqlite', createSqlitePool({ path: ':memory:' })],
    ])) {
      const insert = (db, id) => db.insertInto(TABLE).values({ id }).execute();
      await prove(
        pool,
        (connection, id) => insert(kyselyOn(connection, { dialect }), id),
        (connection, id) =>
          kyselyOn(connection, { dialect })
            .transaction()
            .execute(async (inner) => {
              await insert(inner, id);
              throw new Error('undo');
            }),
      );
    }
    // On a pool, outside of transactions.
    const pool = createSqlitePool({ path: ':memory:' });
    await pool.query('CREATE TABLE orders (id TEXT)');
    await kyselyOn(pool, { dialect: 'sqlite' }).insertInto('orders').values({ id: 'a' }).execute();
    const rows = await kyselyOn(pool, { dialect: 'sqlite' }).selectFrom('orders').selectAll().execute();
    if (rows.length !== 1) throw new Error('kyselyOn(pool) did not store the row');
    await pool.close();
  },

  async '@mikro-orm/postgresql'() {
    const { mikroOrmDialect, mikroOrmOn } = await import('@ambit/orm/mikro-orm');
    const { EntitySchema, MikroORM } = await import('@mikro-orm/core');
    const { PostgreSqlDriver } = await import('@mikro-orm/postgresql');

    const Order = new EntitySchema({
      name: 'Order',
      tableName: TABLE,
      properties: { id: { type: 'string', primary: true } },
    });
    const pool = await postgres();
    const options = {
      driver: PostgreSqlDriver,
      driverOptions: mikroOrmDialect(pool),
      dbName: 'test',
      ensureDatabase: false,
      entities: [Order],
    };
    // The constructor of 7, `initSync()` of 6, and `init()` of 5, each without connecting.
    let orm = MikroORM.initSync?.(options) ?? new MikroORM(options);
    if (!orm.em) orm = await MikroORM.init(options, false);
    await prove(
      pool,
      async (connection, id) => {
        const em = mikroOrmOn(connection, orm);
        em.create(Order, { id });
        await em.flush();
      },
      (connection, id) =>
        mikroOrmOn(connection, orm).transactional(async (inner) => {
          inner.create(Order, { id });
          await inner.flush();
          throw new Error('undo');
        }),
    );
    await orm.close();
  },

  async mysql2() {
    const { fromMysql2Pool } = await import('@ambit/drivers/mysql2');
    const { default: mysql } = await import('mysql2/promise.js');

    const { hostname: host, port, username: user, password } = new URL(mariadbUrl);
    const settings = { host, port: Number(port || 3306), user, password };
    const setup = await mysql.createConnection(settings);
    await setup.query('CREATE DATABASE IF NOT EXISTS ambit_beside');
    await setup.end();
    const pool = fromMysql2Pool(mysql.createPool({ ...settings, database: 'ambit_beside' }));
    await prove(pool, (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]));
  },

  async pg() {
    // Our own pool over `pg`, a `Pool` that the application has, and a client of `pg` in a transaction.
    const { fromPgPool } = await import('@ambit/drivers/pg');
    const { pgClientOn } = await import('@ambit/orm/pg');
    const { default: pg } = await import('pg');

    const store = (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]);
    await prove(await postgres(), store);
    await prove(fromPgPool(new pg.Pool({ connectionString: databaseUrl })), store);
    const insert = (client, id) => client.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]);
    await prove(
      await postgres(),
      (connection, id) => insert(pgClientOn(connection), id),
      async (connection, id) => {
        const client = pgClientOn(connection);
        await client.query('BEGIN');
        await insert(client, id);
        await client.query('ROLLBACK');
        throw new Error('undo');
      },
    );
  },

  async '@prisma/adapter-pg'() {
    const { prismaAdapter } = await import('@ambit/orm/prisma');
    const { PrismaPg } = await import('@prisma/adapter-pg');
    const { default: pg } = await import('pg');

    prismaAdapter(new PrismaPg(new pg.Pool()), await postgres());
  },

  async postgres() {
    const { fromPostgresJs } = await import('@ambit/drivers/postgres-js');
    const { default: postgresJs } = await import('postgres');

    const pool = fromPostgresJs(postgresJs(databaseUrl, { onnotice: () => undefined }));
    await prove(pool, (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]));
  },

  async typeorm() {
    const { typeormDriver, typeormOn } = await import('@ambit/orm/typeorm');
    const { default: typeorm } = await import('typeorm');

    const Order = new typeorm.EntitySchema({
      name: TABLE,
      columns: { id: { type: 'varchar', primary: true } },
    });
    const pool = await postgres();
    const options = { type: 'postgres', driver: typeormDriver(pool), entities: [Order] };
    // Before 0.3 it is a Connection.
    const dataSource = typeorm.DataSource
      ? await new typeorm.DataSource(options).initialize()
      : await typeorm.createConnection(options);
    await prove(
      pool,
      (connection, id) => typeormOn(connection, dataSource).save(Order, { id }),
      (connection, id) =>
        typeormOn(connection, dataSource).transaction(async (inner) => {
          await inner.insert(Order, { id });
          throw new Error('undo');
        }),
    );
  },
};

const program = PROGRAMS[process.argv[2] ?? ''];
if (!program) throw new Error(`No program for ${process.argv[2]}`);
await program();
