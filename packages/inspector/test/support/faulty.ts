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
  'Greeter' | 'Invoices' | 'PriceList' | 'Printer' | 'Upload' | 'Visits',
  new (...parts: unknown[]) => object
> {
  createHandlers(around: object): Routes;
  createJobs(around: object): Readonly<Record<string, () => Promise<unknown>>>;
}
const { createHandlers, createJobs, Greeter, Invoices, PriceList, Printer, Upload, Visits } = createRequire(
  import.meta.url,
)('./handlers.mjs') as Handlers;

export type Database = 'PostgreSQL' | 'SQLite';

/** An application that does everything wrong, each in a route of its own, with an inspector that records from the start. */
export class FaultyApp {
  readonly url: string;
  readonly running: RunningApp;
  /** Work outside of requests, by its fault. */
  readonly jobs: ReturnType<Handlers['createJobs']>;
  readonly #stops: (() => unknown)[];

  private constructor(running: RunningApp, jobs: FaultyApp['jobs'], stops: (() => unknown)[]) {
    this.running = running;
    this.url = running.url;
    this.jobs = jobs;
    this.#stops = stops;
  }

  static async start(database: Database, host = hosts[0]!, port = 0): Promise<FaultyApp> {
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
    const handlers = createHandlers(around);
    const routes = Object.entries(handlers).map(([name, handle]) => [`/${name}`, handle] as const);
    const scopes = [SCOPES, { tags: ['job'] }];
    const options = { container, scopes, always: true, limitMs: 300, slowMs: 1000 };
    const running = await host.start(options, Object.fromEntries(routes), port);
    return new FaultyApp(running, createJobs(around), [() => slow.close(), () => check.stop(), drop]);
  }

  ask(path: string, abortAfterMs = 60_000): Promise<number | undefined> {
    const asked = fetch(`${this.url}/${path}/1`, { signal: AbortSignal.timeout(abortAfterMs) });
    return asked.then(({ status }) => status).catch(() => undefined);
  }

  read<T>(name: string): Promise<T> {
    return this.running.read(name);
  }

  async close(): Promise<void> {
    await this.running.close();
    for (const stop of this.#stops) await stop();
  }
}

async function openDatabase(
  database: Database,
): Promise<{ opened: IDatabasePool; folder: string; drop: () => unknown }> {
  const schema = database === 'PostgreSQL' ? await openSchema() : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const opened = schema
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
  const noOrders = () => ({ newest: undefined });
  return new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    forAll('IDatabasePool', Registration.fromFactory(openPool)),
    forAll('IReports', Registration.fromFactory(openReports)),
    forAll('IVisits', Registration.fromClass(Visits)),
    forAll('IGreeter', Registration.fromClass(Greeter, ['IUser'])),
    perRequest('IUser', Registration.fromClass(Object)),
    perRequest('IOrders', Registration.fromFactory(noOrders)),
    perRequest('IPrices', Registration.fromClass(PriceList)),
    perRequest('IInvoices', Registration.fromClass(Invoices, ['IPrices'])),
    perRequest('IUpload', Registration.fromClass(Upload, ['IRequestSignal'])),
    perRequest('IPrinter', Registration.fromClass(Printer)),
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
