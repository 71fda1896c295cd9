// @ts-check
// An application with faults, on either host and either database:
//   node program.mjs [Express|Fastify] [address of PostgreSQL, or a file] [--wrong-graph]
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Container, hasTag, MetadataInjector, onDispose, Registration, scope, singleton } from '@ambit/container';
import { containerMiddleware } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { inspectorMiddleware } from '@ambit/inspector/express';
import { inspectorPlugin } from '@ambit/inspector/fastify';
import { createOutbox } from '@ambit/outbox';
import { transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import express from 'express';
import { fastify } from 'fastify';
import { deliver, Greeter, handlers, Invoices, Ledger, PriceList, startSlowServer } from './handlers.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'wrong-graph': { type: 'boolean', default: false } },
});
const [host = 'Express', address = ':memory:'] = positionals;
const { 'wrong-graph': wrongGraph } = values;
const isPostgres = address.startsWith('postgres');
const opened = isPostgres
  ? createPostgresPool({ connectionString: address, max: 2, acquireTimeoutMs: 5000 })
  : createSqlitePool({ path: address, acquireTimeoutMs: 5000 });
await opened.query('CREATE TABLE products (id integer PRIMARY KEY, level integer NOT NULL)');
await opened.query(
  'CREATE TABLE orders (id integer PRIMARY KEY, product integer REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED)',
);
for (let id = 1; id <= 12; id++) await opened.query('INSERT INTO products VALUES ($1, 100)', [id]);

const check = transactionCheck({ mode: 'report', report: () => undefined });
const perRequest = [singleton(), scope(hasTag('request'))];
const app = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
  Registration.fromFactory(() => check.pool(opened))
    .pipe(
      singleton(),
      onDispose((pool) => pool.close()),
    )
    .to('IDatabasePool'),
  Registration.fromFactory(() => ({ newest: undefined }))
    .pipe(...perRequest)
    .to('IOrders'),
  Registration.fromClass(PriceList)
    .pipe(...perRequest)
    .to('IPrices'),
  Registration.fromClass(Invoices, ['IPrices'])
    .pipe(...perRequest)
    .to('IInvoices'),
);
if (wrongGraph) {
  app.addRegistration(
    Registration.fromFactory(() => 'a customer')
      .pipe(...perRequest)
      .to('IUser'),
    Registration.fromClass(Greeter, ['IUser']).pipe(singleton()).to('IGreeter'),
    Registration.fromFactory((pool) => pool, ['IDatabasePool'])
      .pipe(...perRequest)
      .to('IQueryable'),
    Registration.fromFactory((connection) => connection, ['IConnection'])
      .pipe(singleton(), scope(hasTag('transaction')))
      .to('IQueryable'),
    Registration.fromClass(Ledger, ['IQueryable'])
      .pipe(...perRequest)
      .to('ILedger'),
  );
}
const outbox = createOutbox(opened, { dialect: isPostgres ? 'postgres' : 'sqlite' });
await outbox.createTable();
const relay = outbox.relay(deliver, { pollMs: 50, onError: () => undefined });

const slowServer = await startSlowServer();
const slow = `http://127.0.0.1:${slowServer.address().port}`;
/** Two handlers meet here once. */
let [meet, arrived] = [undefined, 0];
const met = new Promise((resolve) => (meet = resolve));
const both = async () => {
  arrived += 1;
  if (arrived === 2) meet();
  await met;
};
const handle = (name, container) => handlers[name](container, { app, slow, both });

const inspector = {
  container: app,
  scopes: {
    tags: ['request'],
    registers: ['IRequestSignal'],
    scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
  },
  always: true,
  limitMs: 300,
  slowMs: 1000,
};
let server;
if (host === 'Express') {
  const application = express();
  application.use(inspectorMiddleware(inspector), containerMiddleware(app, { onDisposeError: () => undefined }));
  for (const name of Object.keys(handlers))
    application.get(`/${name}`, async (req, res) => void res.sendStatus(await handle(name, req.container)));
  application.use((error, _req, res, _next) => void res.sendStatus(error.status ?? 500));
  server = application.listen(0, '127.0.0.1');
  await once(server, 'listening');
} else {
  const application = fastify();
  await application.register(inspectorPlugin, inspector);
  await application.register(containerPlugin, { container: app });
  for (const name of Object.keys(handlers))
    application.get(`/${name}`, async (request, reply) => reply.code(await handle(name, request.container)).send());
  await application.listen({ port: 0, host: '127.0.0.1' });
  server = application.server;
}

const publish = async () => {
  const connection = await opened.getConnection();
  await connection.beginTransaction();
  await outbox.publish(connection, { topic: 'order.created', payload: {} });
  await connection.commit();
  connection.release();
  relay.start();
  process.send?.('done');
};
process.on('message', () => void publish());
process.on('disconnect', () => process.exit());
process.send?.({ url: `http://127.0.0.1:${server.address().port}` });
if (!process.send) console.log(`http://127.0.0.1:${server.address().port}/inspector/`);
