/** A program, and the lines on which the rule reports something. TypeScript where `ts` says so. */
export interface Case {
  readonly name: string;
  readonly code: string;
  readonly lines?: readonly number[];
  readonly ts?: boolean;
}

/** What each rule reports and what it leaves alone: run by the command, by oxlint, and by ESLint 9 and 10. */
export const cases: Readonly<Record<string, readonly Case[]>> = {
  'no-pool-in-transaction': [
    {
      name: 'Drizzle, Kysely, Prisma: the database in its own callback',
      lines: [5, 9, 13],
      code: `
import { db, kysely, prisma } from './db.js';
export const a = () =>
  db.transaction(async (tx) => {
    await db.insert(users).values({ name: 'Ann' });
  });
export const b = () =>
  kysely.transaction().setIsolationLevel('serializable').execute(async (trx) => {
    await kysely.insertInto('users').values({ name: 'Ann' }).execute();
  });
export const c = () =>
  prisma.$transaction(async () => {
    return await prisma.user.create({ data: {} });
  });
`,
    },
    {
      name: 'mysql2 and postgres.js',
      lines: [7, 13],
      code: `
import mysql from 'mysql2/promise';
const pool = mysql.createPool({});
export async function move() {
  const connection = await pool.getConnection();
  await connection.beginTransaction();
  await pool.execute('UPDATE accounts SET cents = cents - 1');
  await connection.commit();
}
export const sql = connect();
export const add = () =>
  sql.begin(async (tx) => {
    await sql\`INSERT INTO users VALUES (1)\`;
    await tx\`INSERT INTO users VALUES (2)\`;
  });
`,
    },
    {
      name: 'a helper of the same file that uses the pool',
      lines: [5],
      code: `
import { db } from './db.js';
export const register = (user) =>
  db.transaction(async (tx) => {
    await record(user);
    await tx.insert(users).values(user);
  });
async function record(user) {
  await db.insert(log).values(user);
}
`,
    },
    {
      name: 'TypeORM: a repository that was injected',
      ts: true,
      lines: [8],
      code: `
import { DataSource, Repository } from 'typeorm';
import { User } from './user.js';
export class Users {
  constructor(private readonly dataSource: DataSource, private readonly users: Repository<User>) {}
  register(user: User) {
    return this.dataSource.transaction(async (manager) => {
      await this.users.save(user);
      await manager.save(user);
    });
  }
}
`,
    },
    {
      name: 'Sequelize: a write without the transaction',
      lines: [6],
      code: `
import { Sequelize } from 'sequelize';
const sequelize = new Sequelize('');
export const place = (order) =>
  sequelize.transaction(async (t) => {
    await Order.create(order);
    await Order.create(order, { transaction: t });
    await Order.create(order, options);
    await Order.update(order, { where: {}, ...options });
  });
`,
    },
    {
      name: 'the pool that a helper is given, that it checks a connection out of, and that is handed on',
      lines: [17, 18, 19, 20, 26],
      code: `
import { Pool } from 'pg'; import { withTransaction } from './db.js';
export const pool = new Pool();
const inTx = async (work) => {
  const client = await pool.connect();
  await client.query('BEGIN');
  await work(client);
  await client.query('COMMIT');
};
async function check(db, user) {
  await db.query('SELECT 1', [user]);
}
const note = async (text, db = pool) => check(db, text);
export const nested = (db) => db.query('SELECT 1');
export const place = (db, pool) =>
  withTransaction(db, async (client) => {
    await db.query('SELECT 1');
    await check(db, 'Ann');
    await orders.find(db, 1);
    return await nested(db);
    await check(client, 'Ann');
    await names(client, db);
  });
export const other = () =>
  inTx(async (client) => {
    await note('Ann');
    await note('Ann', client);
  });
`,
    },
    {
      name: 'Ambit, nestjs-cls, pg-promise and an instance of Sequelize',
      ts: true,
      lines: [7, 14, 19, 26],
      code: `
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { Transactional, TransactionHost } from '@nestjs-cls/transactional';
class Audit {
  constructor(private readonly connection: IConnection, private readonly pool: IDatabasePool) {}
  async add(entry: string) {
    await this.pool.query('INSERT INTO audit VALUES ($1)', [entry]);
    await this.connection.query('INSERT INTO entries VALUES ($1)', [entry]);
  }
}
class Users {
  constructor(private readonly txHost: TransactionHost, private readonly prisma: PrismaService) {}
  @Transactional() async add() {
    await this.prisma.user.create({ data: {} });
    await this.txHost.tx.user.create({ data: {} });
  }
  list = () => this.prisma.user.findMany();
  many = () => this.txHost.withTransaction(async () => {
    await this.prisma.user.create({ data: {} });
  });
}
export const pay = (db) =>
  db.tx(async (t) => t.none('UPDATE accounts SET cents = 0'));
export const close = async (sequelize, id: number) => {
  const order = await Order.findByPk(id);
  await sequelize.transaction(async (t) => { await order.save();
    await order.save({ transaction: t });
  });
};
`,
    },
    {
      name: 'the handle, a name that hides the pool, a query that is only built, what runs later, a rolled-back branch',
      code: `
import { db, knex, pool } from './db.js';
export const a = () => db.transaction(async (db) => db.insert(users).values({}));
export const b = () =>
  db.transaction(async (tx) => {
    const newest = db.select().from(users);
    await tx.insert(users).select(newest);
    await db.insert(users).values({}).using(tx);
    setTimeout(() => db.delete(users), 1000);
    const repository = new Users(tx);
    await repository.save(db.defaults(tx));
  });
export const c = () =>
  knex.transaction(async (trx) => {
    await knex('users').insert({}).transacting(trx);
    await trx('users').update({ at: knex.raw('now()') });
  });
export async function d() {
  const client = await pool.connect();
  await client.query('BEGIN');
  try {
    if (await isTaken(client)) {
      await client.query('ROLLBACK');
      await pool.query('INSERT INTO refused VALUES (1)');
      return;
    }
    try {
      await client.query('INSERT INTO mails VALUES (1)');
    } catch (error) {
      await pool.query('INSERT INTO failures VALUES (1)');
      throw error;
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    await pool.query('INSERT INTO failures VALUES (1)');
  }
}
`,
    },
    {
      name: 'better-sqlite3, which has one connection, and MikroORM, which finds the transaction by itself',
      code: `
import Database from 'better-sqlite3';
const db = new Database('app.db');
export const save = db.transaction((rows) => {
  for (const row of rows) db.prepare('INSERT INTO t VALUES (?)').run(row);
});
export const place = (em) => em.transactional(async () => { await em.persist({}).flush(); });
`,
    },
  ],
  'no-parallel-queries-in-transaction': [
    {
      name: 'Promise.all, allSettled, forEach',
      lines: [5, 6, 7, 8],
      code: `
import { db } from './db.js';
export const save = (rows) =>
  db.transaction(async (tx) => {
    await Promise.all([tx.insert(a).values({}), tx.insert(b).values({})]);
    await Promise.allSettled(rows.map((row) => tx.insert(a).values(row)));
    await Promise.all(rows.map(async (row) => store(row, tx)));
    rows.forEach(async (row) => {
      await tx.insert(a).values(row);
    });
  });
`,
    },
    {
      name: 'through a variable, push, a callback that is not awaited, and nobody who waits',
      lines: [6, 11, 14, 15, 16],
      code: `
import { db, pool } from './db.js';
export const save = (rows) =>
  db.transaction(async (tx) => {
    const saved = rows.map((row) => tx.insert(a).values(row));
    await Promise.all(saved);
    const all = [];
    for (const row of rows) all.push(store(row, tx));
    const done = [];
    for (const row of rows) done.push(await store(row, tx));
    await Promise.all(all);
    await Promise.all(done);
    const first = tx.insert(a).values({}), second = tx.insert(b).values({});
    await Promise.all([first, second]);
    rows.forEach((row) => tx.insert(a).values(row));
    tx.execute('DELETE FROM a');
    tx.execute('DELETE FROM a', (error) => console.error(error));
  });
`,
    },
    {
      name: 'Ambit: a statement that is not awaited; its connection runs one after another',
      ts: true,
      lines: [5],
      code: `
class Orders {
  constructor(private readonly connection: IConnection) {}
  async place() {
    this.connection.query('INSERT INTO orders VALUES (1)');
    await Promise.all([this.connection.query('SELECT 1'), this.connection.query('SELECT 2')]);
  }
}
`,
    },
    {
      name: 'between BEGIN and COMMIT, and Sequelize, whose handle is an option',
      lines: [6, 11],
      code: `
import { pool, sequelize } from './db.js';
export async function a(rows) {
  const client = await pool.connect();
  await client.query('BEGIN');
  await Promise.all(rows.map((row) => client.query('INSERT INTO t VALUES ($1)', [row])));
  await client.query('COMMIT');
}
export async function b(rows) {
  const transaction = await sequelize.transaction();
  await Promise.all(rows.map((row) => Row.create(row, { transaction })));
  await transaction.commit();
}
`,
    },
    {
      name: 'one query beside other work, queries outside of a transaction, pipelines of postgres.js',
      code: `
import postgres from 'postgres';
import { db } from './db.js';
const sql = postgres();
export const a = (rows) =>
  db.transaction(async (tx) => {
    await Promise.all([tx.insert(t).values({}), hash('name')]);
    for (const row of rows) await tx.insert(t).values(row);
    const names = await Promise.all(rows.map((row) => hash(row)));
    rows.forEach((row) => names.push(row));
  });
export const b = (rows) => Promise.all(rows.map((row) => db.insert(t).values(row)));
export const c = () => sql.begin(async (tx) => Promise.all([tx\`SELECT 1\`, tx\`SELECT 2\`]));
`,
    },
  ],
  'no-response-before-commit': [
    {
      name: 'in the callback of a transaction',
      lines: [6, 12],
      code: `
import { db } from './db.js';
app.post('/orders', async (req, res) => {
  await db.transaction(async (tx) => {
    await tx.insert(orders).values(req.body);
    res.status(201).json({ stored: true });
  });
});
server.post('/orders', (request, reply) =>
  db.transaction(async (tx) => {
    await tx.insert(orders).values(request.body);
    return reply.send({ stored: true });
  }),
);
`,
    },
    {
      name: 'after COMMIT, refusals, and branches that do not commit',
      code: `
import { db, pool } from './db.js';
app.post('/a', async (req, res) => {
  const order = await db.transaction(async (tx) => {
    if (!req.body) return res.status(400).json({ error: 'no body' });
    return tx.insert(orders).values(req.body);
  });
  res.json(order);
});
app.post('/b', async (req, res) => {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    if (!req.body) {
      await client.query('ROLLBACK');
      return res.json({ error: 'no body' });
    }
    if (req.body.dryRun) return res.json({ stored: false });
    await client.query('COMMIT');
    res.json({ stored: true });
  } catch (error) {
    await client.query('ROLLBACK');
    res.json({ error: 'failed' });
  }
});
`,
    },
  ],
  'no-shared-transaction': [
    {
      name: 'a service of Nest',
      ts: true,
      lines: [8],
      code: `
import { Injectable } from '@nestjs/common';
import { DataSource, QueryRunner } from 'typeorm';
@Injectable()
export class Transactions {
  private queryRunner?: QueryRunner;
  constructor(private readonly dataSource: DataSource) {}
  async begin() { this.queryRunner = this.dataSource.createQueryRunner();
    await this.queryRunner.startTransaction();
  }
}
`,
    },
    {
      name: 'a singleton that makes it in its constructor',
      lines: [5],
      code: `
import { dataSource } from './db.js';
class Transactions {
  constructor() {
    this.runner = dataSource.createQueryRunner();
  }
  begin = () => this.runner.startTransaction();
}
export default new Transactions();
`,
    },
    {
      name: 'variables of a module, an object of a module, a singleton',
      lines: [6, 13, 21],
      code: `
import { pool, sequelize } from './db.js';
let client;
let other;
export async function begin() {
  client = await pool.connect();
  await client.query('BEGIN');
  return client;
}
export const transactions = {
  current: undefined,
  async begin() {
    this.current = await sequelize.transaction();
  },
};
class Work {
  async run(work) {
    const started = await pool.connect();
    await started.query('BEGIN');
    other = started.processID;
    this.client = started;
    await work();
    await started.query('COMMIT');
  }
}
export const work = new Work();
`,
    },
    {
      name: 'an object of each transaction, one of each request, a connection that listens',
      ts: true,
      code: `
import { Injectable, Scope } from '@nestjs/common';
import { DataSource, QueryRunner } from 'typeorm';
import { pool } from './db.js';
export class UnitOfWork {
  private queryRunner?: QueryRunner;
  constructor(private readonly dataSource: DataSource) {}
  async begin() {
    this.queryRunner = this.dataSource.createQueryRunner();
    await this.queryRunner.startTransaction();
  }
}
export const inUnit = async (dataSource: DataSource) => new UnitOfWork(dataSource).begin();
@Injectable({ scope: Scope.REQUEST })
export class PerRequest {
  private queryRunner?: QueryRunner;
  constructor(private readonly dataSource: DataSource) {}
  async begin() {
    this.queryRunner = this.dataSource.createQueryRunner();
    await this.queryRunner.startTransaction();
  }
}
export class Listener {
  private client: unknown;
  async start() {
    this.client = await pool.connect();
  }
}
export const listener = new Listener();
`,
    },
  ],
  'restore-outer-transaction': [
    {
      name: 'a store that is emptied at the end',
      lines: [10],
      code: `
import { db } from './db.js';
export async function transaction(work) {
  const store = context.getStore();
  await db.transaction(async (tx) => {
    store.tx = tx;
    try {
      return await work();
    } finally {
      store.tx = undefined;
    }
  });
}
`,
    },
    {
      name: 'what was there is set back, or joined',
      code: `
import { db } from './db.js';
export async function setBack(work) {
  const store = context.getStore();
  const outer = store.tx;
  await db.transaction(async (tx) => {
    store.tx = tx;
    try {
      return await work();
    } finally {
      store.tx = outer;
    }
  });
}
export async function join(work) {
  const store = context.getStore();
  if (store.tx) return work();
  await db.transaction(async (tx) => {
    store.tx = tx;
    try {
      return await work();
    } finally {
      store.tx = undefined;
    }
  });
}
`,
    },
  ],
  'no-shared-request-data': [
    {
      name: 'a variable of a module, a static field, a controller',
      ts: true,
      lines: [9, 10, 11, 12, 13, 19],
      code: `
import { Controller, Get, Req } from '@nestjs/common';
let currentUser: unknown, last: unknown;
let tenant: unknown;
class Locale {
  static current: unknown;
}
app.use(async (req, res, next) => {
  currentUser = req.user;
  Locale.current = req.headers['accept-language'];
  const { id } = req.params; tenant = await find(id);
  global.locale = req.query.locale;
  last = req;
  next();
});
@Controller('users')
export class Users {
  private user: unknown;
  @Get() list(@Req() req: Request) { this.user = req.user;
    return this.user;
  }
}
`,
    },
    {
      name: 'objects, setters, maps, the environment, and what the handler reads again after it has waited',
      lines: [16, 17, 18, 19, 20, 21, 22, 23, 24, 25],
      code: `
import { context } from './context.js';
class Caller {
  setUser(user) {
    this.user = user;
  }
}
const caller = new Caller();
const state = {};
const store = new Map();
let email;
let draft;
const rename = (name) => void (email = name);
router.post('/a', async (req, res) => {
  const { user } = req;
  state.user = user;
  context.user = req.user;
  email = req.body.email;
  caller.setUser(req.user);
  rename(req.body.email);
  store.set('user', req.user);
  Object.assign(state, { user: req.user });
  process.env.TENANT = req.headers['x-tenant'];
  req.app.locals.user = req.user;
  draft = req.body;
  store.set(req.user.id, req.body);
  await save();
  res.json(draft);
});
`,
    },
    {
      name: 'what belongs to the request, a key of its own, counters, what a form changes for all',
      code: `
let count = 0;
let settings = {};
let app;
const sessions = {};
router.use((req, res, next) => {
  req.tenant = req.headers.host;
  res.locals.user = req.user;
  sessions[req.sessionID] = req.user;
  count = count + 1;
  app = req.app;
  const user = req.user;
  let name;
  name = user.name;
  next();
});
let mode;
router.put('/mode', (req, res) => {
  mode = req.body.mode;
  mode = modeOf(req);
  res.json({ mode });
});
let lastToken;
router.put('/settings', (req, res) => {
  lastToken = req.body;
  lastToken = { ...lastToken, ...req.body };
  settings = { ...settings, ...req.body };
  res.json(settings);
});
class Handler {
  handle(req, res) {
    this.req = req;
  }
}
export const handle = (req, res) => new Handler().handle(req, res);
`,
    },
  ],
  'no-transaction-on-pool': [
    {
      name: 'a pool, an object and a function that pass their text to one, a field',
      ts: true,
      lines: [9, 10, 11, 14],
      code: `
import { Pool } from 'pg';
const pool = new Pool();
const db = { pool, query: (...args) => pool.query(...args) };
const run = (text: string) => pool.query(text);
class Accounts {
  constructor(private readonly database: Pool) {}
  async transfer() {
    await this.database.query('BEGIN');
    await run('begin isolation level serializable');
    await db.query('START TRANSACTION');
  }
}
export const withTransaction = async (pool, work) => { await pool.query('BEGIN');
  await work();
};
`,
    },
    {
      name: 'a connection, a text with its own COMMIT, a context that may have a connection, SQLite',
      code: `
import Database from 'better-sqlite3';
import { Client, Pool } from 'pg';
const pool = new Pool();
const sqlite = new Database('app.db');
const query = (text) => (context.getStore() ?? pool).query(text);
export async function transfer(connection) {
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('COMMIT');
  await connection.query('BEGIN');
  await new Client().query('BEGIN');
  await pool.query('BEGIN; DELETE FROM a; COMMIT');
  await query('BEGIN');
  sqlite.exec('BEGIN');
}
`,
    },
  ],
  'no-effects-in-transaction': [
    {
      name: 'fetch, a client, a mail, a function that awaits one, and a class of Ambit',
      ts: true,
      lines: [6, 7, 8, 9, 16],
      code: `
import axios from 'axios'; import { db, mailer } from './db.js';
const notify = async () => { await fetch('https://example.org'); };
export const place = () =>
  db.transaction(async (tx) => {
    await fetch('https://example.org');
    await axios.post('https://example.org');
    await mailer.sendMail({});
    await notify();
  });
class Orders {
  constructor(private readonly connection: IConnection) {}
  async place() {
    await fetch('https://example.org/before');
    await this.connection.query('INSERT INTO orders VALUES (1)');
    await fetch('https://example.org');
  }
}
`,
    },
    {
      name: 'after COMMIT, in a catch, what is kept for later, a function of the same name',
      code: `
const fetch = async () => 1;
export const place = async () => {
  await db.transaction(async (tx) => {
    const sent = () => axios.post('https://example.org');
    try {
      await tx.insert(orders).values({});
    } catch (error) {
      await axios.post('https://example.org');
      throw error;
    }
    later.push(sent);
  });
  await axios.post('https://example.org');
};
`,
    },
  ],
  'no-caught-failure-in-transaction': [
    {
      name: 'a catch that goes on, in each case or in some, and in a class of Ambit',
      ts: true,
      lines: [9, 10, 14, 21],
      code: `
import { Pool } from 'pg';
const pool = new Pool();
export async function pay() {
  const client = await pool.connect();
  await client.query('BEGIN');
  try {
    await client.query('INSERT INTO receipts VALUES (1)');
  } catch {}
  await client.query('INSERT INTO receipts VALUES (2)').catch(() => undefined);
  try {
    await client.query('INSERT INTO receipts VALUES (3)');
    await other();
  } catch (error) {
    if (error.code !== '23505') throw error;
  }
  await client.query('COMMIT');
}
class Receipts {
  constructor(private readonly connection: IConnection) {}
  async add() { await this.connection.query('INSERT INTO receipts VALUES (1)').catch(() => undefined);
  }
}
`,
    },
    {
      name: 'what is thrown on, rolled back, in a savepoint, of something else, or on MySQL',
      code: `
import mysql from 'mysql2/promise';
import { Pool } from 'pg';
const pool = new Pool();
const other = mysql.createPool({});
export async function pay() {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    try {
      await client.query('INSERT INTO receipts VALUES (1)');
    } catch (error) {
      if (error.code === '23505') throw new Error('paid');
      else throw error;
    }
    try {
      await notify();
    } catch {}
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
  }
}
export async function save() {
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('SAVEPOINT a');
  await client.query('INSERT INTO receipts VALUES (1)').catch(() => client.query('ROLLBACK TO a'));
  await client.query('COMMIT');
  const connection = await other.getConnection();
  await connection.beginTransaction();
  await connection.query('INSERT INTO receipts VALUES (1)').catch(() => {});
  await connection.commit();
}
`,
    },
  ],
  'no-cradle-as-dependency': [
    {
      name: 'a class and a function that take one value',
      lines: [16, 17, 18],
      ts: true,
      code: `
import { asClass, asFunction, createContainer } from 'awilix';
class Client {
  constructor(private readonly baseUrl: string) {}
}
class Mailer {
  host: unknown;
  port: unknown;
  constructor(host: Host, port: Port) {
    this.host = host;
    this.port = port;
  }
}
const pricesOf = (currency: string) => currency.toUpperCase();
createContainer().register({
  client: asClass(Client).singleton(),
  mailer: asClass(Mailer),
  prices: asFunction(pricesOf),
});
`,
    },
    {
      name: 'what takes the cradle, or is injected by names',
      ts: true,
      code: `
import { asClass, asFunction, createContainer, InjectionMode } from 'awilix';
class Client {
  constructor({ baseUrl }: { baseUrl: string }) {}
}
class Mailer {
  constructor(cradle: Cradle) {}
}
class Named {
  constructor(host: string, port: number) {}
}
class Options {
  url: string;
  constructor(options: { url: string }) {
    this.url = options.url;
  }
}
createContainer().register({
  client: asClass(Client).singleton(),
  mailer: asClass(Mailer),
  options: asClass(Options),
  named: asClass(Named, { injectionMode: InjectionMode.CLASSIC }),
  same: asClass(Named).classic().singleton(),
  made: asClass(Named).inject(() => ({ host: '', port: 1 })),
  none: asFunction(() => 1),
});
`,
    },
  ],
};

/** Each case as a file of its own. */
export const all = Object.entries(cases).flatMap(([rule, list]) =>
  list.map((each, index) => ({ ...each, rule, file: `${rule}-${index}.${each.ts ? 'ts' : 'js'}` })),
);

export interface Reported {
  readonly file: string;
  readonly rule: string;
  readonly line: number;
}

/** The lines that a rule reports in its case; a line of another rule's case is a mistake, too. */
export const linesOf = (reports: readonly Reported[], file: string) =>
  reports.filter((each) => each.file === file).map(({ rule, line }) => `${line} ${rule}`);

export const expectedOf = ({ lines = [], rule }: Case & { rule: string }) => lines.map((line) => `${line} ${rule}`);
