import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Container, MetadataInjector, hasTag, Registration, scope, singleton } from '@ambit/container';
import { inScope } from '@ambit/container/work';
import { openSchema } from '@ambit/test-kit';
import { record } from '@ambit/replay';
import { afterCommit, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { inWorkContext } from '@ambit/transaction/extension';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { hosts, type Routes, type RunningApp, SCOPES } from './app.js';

interface Handlers extends Record<
  'Greeter' | 'PriceList' | 'Printer' | 'Upload' | 'Visits',
  new (...parts: unknown[]) => object
> {
  createHandlers(around: object): Routes;
  createJobs(around: object): Readonly<Record<string, () => Promise<unknown>>>;
}
const load = createRequire(import.meta.url);
const { createHandlers, createJobs, ...services } = load('./handlers.mjs') as Handlers;

export type Database = 'PostgreSQL' | 'SQLite';

/** An application that does everything wrong, each in a route of its own, with an inspector that records from the start. */
export interface FaultyApp extends RunningApp {
  /** Work outside of requests, by its fault. */
  readonly jobs: ReturnType<Handlers['createJobs']>;
  ask(path: string, abortAfterMs?: number): Promise<number | undefined>;
}

export async function startFaulty(database: Database, host = hosts[0]!, port = 0): Promise<FaultyApp> {
  const { opened, folder, drop } = await openDatabase(database);
  const check = transactionCheck({ mode: 'report', report: () => undefined });
  const container = createContainer(check.pool(opened));
  record(container, { folder });
  const slow = await startSlowServer();
  const { port: slowPort } = slow.address() as AddressInfo;
  const around = {
    runInTransaction,
    inScope,
    inWorkContext,
    afterCommit,
    app: container,
    isPostgres: database === 'PostgreSQL',
    slow: () => `http://127.0.0.1:${slowPort}`,
  };
  const routes = Object.entries(createHandlers(around)).map(([name, handle]) => [`/${name}`, handle] as const);
  const scopes = [SCOPES, { tags: ['job'] }];
  const options = { container, scopes, always: true, limitMs: 300, slowMs: 1000 };
  const running = await host.start(options, Object.fromEntries(routes), port);
  const ask = (path: string, abortAfterMs = 60_000): Promise<number | undefined> => {
    const asked = fetch(`${running.url}/${path}/1`, { signal: AbortSignal.timeout(abortAfterMs) });
    return asked.then(({ status }) => status).catch(() => undefined);
  };
  const close = async (): Promise<void> => {
    await running.close();
    slow.close();
    check.stop();
    await drop();
  };
  return { ...running, jobs: createJobs(around), ask, close };
}

async function openDatabase(database: Database) {
  const schema = database === 'PostgreSQL' ? await openSchema() : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const opened: IDatabasePool = schema
    ? createPostgresPool({ connectionString: schema.url(), max: 2, acquireTimeoutMs: 5000 })
    : createSqlitePool({ path: join(folder, 'test.db'), acquireTimeoutMs: 5000 });
  await opened.query('CREATE TABLE products (id integer PRIMARY KEY, level integer NOT NULL)');
  await opened.query(
    'CREATE TABLE orders (id integer PRIMARY KEY, product integer REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED)',
  );
  if (schema)
    await opened.query(
      "CREATE FUNCTION refuse() RETURNS void AS 'BEGIN RAISE EXCEPTION ''the customer''; END' LANGUAGE plpgsql",
    );
  for (let id = 1; id <= 12; id++) await opened.query('INSERT INTO products VALUES ($1, 100)', [id]);
  const drop = async (): Promise<void> => {
    await opened.close();
    await schema?.drop();
    rmSync(folder, { recursive: true });
  };
  return { opened, folder, drop };
}

function createContainer(pool: IDatabasePool): Container {
  const forAll = <T>(key: string, one: Registration<T>) => one.pipe(singleton()).to(key);
  const perRequest = <T>(key: string, one: Registration<T>) => one.pipe(singleton(), scope(hasTag('request'))).to(key);
  const openReports = () => createSqlitePool({ path: ':memory:', acquireTimeoutMs: 3000, closeTimeoutMs: 50 });
  const openPool = () => pool;
  const invoicesOf = (prices: unknown) => ({ prices });
  const noOrders = () => ({ newest: undefined });
  return new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    forAll('IDatabasePool', Registration.fromFactory(openPool)),
    forAll('IReports', Registration.fromFactory(openReports)),
    forAll('IVisits', Registration.fromClass(services.Visits)),
    forAll('IGreeter', Registration.fromClass(services.Greeter, ['IUser'])),
    perRequest('IUser', Registration.fromClass(Object)),
    perRequest('IOrders', Registration.fromFactory(noOrders)),
    perRequest('IPrices', Registration.fromClass(services.PriceList)),
    perRequest('IInvoices', Registration.fromFactory(invoicesOf, ['IPrices'])),
    perRequest('IUpload', Registration.fromClass(services.Upload, ['IRequestSignal'])),
    perRequest('IPrinter', Registration.fromClass(services.Printer)),
  );
}

/** A server that takes as long to respond as it is asked to. */
async function startSlowServer(): Promise<Server> {
  const server = createServer(({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://slow');
    response.statusCode = Number(searchParams.get('status') ?? 200);
    setTimeout(() => response.end('done'), Number(searchParams.get('ms')));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}
