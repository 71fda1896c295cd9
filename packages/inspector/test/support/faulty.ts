import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Container, MetadataInjector, hasTag, Registration, scope, singleton } from '@ambit/container';
import { openSchema } from '@ambit/test-kit';
import { createOutbox } from '@ambit/outbox';
import { afterCommit, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { type Host, hosts, type Routes, type RunningApp, SCOPES } from './app.js';

interface Handlers extends Record<
  'Greeter' | 'Invoices' | 'PriceList' | 'Upload',
  new (...parts: unknown[]) => object
> {
  deliver(): Promise<void>;
  createHandlers(around: Record<string, unknown> & { slow: () => string }): Routes;
}
const { createHandlers, deliver, Greeter, Invoices, PriceList, Upload } = createRequire(import.meta.url)(
  './handlers.mjs',
) as Handlers;

export type Database = 'PostgreSQL' | 'SQLite';

/** An application that does everything wrong, each in a route of its own, with an inspector that records from the start. */
export class FaultyApp {
  readonly url: string;
  readonly running: RunningApp;
  readonly #stops: (() => unknown)[];

  private constructor(running: RunningApp, stops: (() => unknown)[]) {
    this.running = running;
    this.url = running.url;
    this.#stops = stops;
  }

  static async start(
    database: Database,
    {
      host = hosts[0]!,
      wrongGraph = false,
      port = 0,
    }: { host?: Host | undefined; wrongGraph?: boolean; port?: number } = {},
  ): Promise<FaultyApp> {
    const { opened, drop } = await openDatabase(database);
    const check = transactionCheck({ mode: 'report', report: () => undefined });
    const container = createContainer(check.pool(opened), wrongGraph);
    const outbox = createOutbox(opened, { dialect: database === 'PostgreSQL' ? 'postgres' : 'sqlite' });
    await outbox.createTable();
    const relay = outbox.relay(deliver, { pollMs: 50, onError: () => undefined });
    const slow = await startSlowServer();
    const { port: slowPort } = slow.address() as AddressInfo;
    const handlers = createHandlers({
      runInTransaction,
      afterCommit,
      app: container,
      slow: () => `http://127.0.0.1:${slowPort}`,
    });
    const publish = async (): Promise<number> => {
      await runInTransaction(container, (inner) =>
        outbox.publish(inner.resolve('IConnection' as string), { topic: 'order.created', payload: {} }),
      );
      relay.start();
      return 200;
    };
    const all: Routes = { ...handlers, publish };
    const routes = Object.entries(all).map(([name, handle]) => [`/${name}`, handle] as const);
    const options = {
      container,
      scopes: [SCOPES, { tags: ['job'] }],
      always: true,
      limitMs: 300,
      slowMs: 1000,
      links: { Docs: '/docs' },
    };
    const running = await host.start(options, Object.fromEntries(routes), port);
    return new FaultyApp(running, [() => relay.dispose(), () => slow.close(), () => check.stop(), drop]);
  }

  ask(path: string, abortAfterMs = 60_000): Promise<number | undefined> {
    const asked = fetch(`${this.url}/${path}/1`, { signal: AbortSignal.timeout(abortAfterMs) });
    return asked.then(({ status }) => status).catch(() => undefined);
  }

  /** Reads a tool of the inspector. */
  async read<T>(name: string): Promise<T> {
    return (await (await fetch(`${this.url}/inspector/${name}`)).json()) as T;
  }

  async close(): Promise<void> {
    await this.#stops[0]?.();
    await this.running.close();
    for (const stop of this.#stops.slice(1)) await stop();
  }
}

async function openDatabase(database: Database): Promise<{ opened: IDatabasePool; drop: () => unknown }> {
  const schema = database === 'PostgreSQL' ? await openSchema() : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  const opened = schema
    ? createPostgresPool({ connectionString: schema.url(), max: 2, acquireTimeoutMs: 5000 })
    : createSqlitePool({ path: join(folder, 'test.db'), acquireTimeoutMs: 5000 });
  await opened.query('CREATE TABLE products (id integer PRIMARY KEY, level integer NOT NULL)');
  await opened.query(
    'CREATE TABLE orders (id integer PRIMARY KEY, product integer REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED)',
  );
  for (let id = 1; id <= 12; id++) await opened.query('INSERT INTO products VALUES ($1, 100)', [id]);
  const drop = async (): Promise<void> => {
    await opened.close();
    await schema?.drop();
    rmSync(folder, { recursive: true });
  };
  return { opened, drop };
}

function createContainer(pool: IDatabasePool, wrongGraph: boolean): Container {
  const perRequest = [singleton(), scope(hasTag('request'))] as const;
  const app = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => pool)
      .pipe(singleton())
      .to('IDatabasePool'),
    Registration.fromFactory(() => ({ newest: undefined }))
      .pipe(...perRequest)
      .to('IOrders'),
    Registration.fromClass(PriceList)
      .pipe(...perRequest)
      .to('IPrices'),
    Registration.fromClass(Upload, ['IRequestSignal'])
      .pipe(...perRequest)
      .to('IUpload'),
    Registration.fromClass(Invoices, ['IPrices'])
      .pipe(...perRequest)
      .to('IInvoices'),
  );
  if (!wrongGraph) return app;
  return app.addRegistration(
    Registration.fromFactory(() => 'a customer')
      .pipe(...perRequest)
      .to('IUser'),
    Registration.fromClass(Greeter, ['IUser']).pipe(singleton()).to('IGreeter'),
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
