import assert from 'node:assert/strict';
import { Container, hasTag, MetadataInjector, Registration, scope, singleton } from '@ambit/container';
import type { IContainer } from '@ambit/container';
import type { IConnection, IDatabasePool, TransactionError } from '@ambit/transaction';
import { RawClient, type RequestText } from '../tools/client.js';
import type { RawResponse } from '../tools/response.js';
import { ScopeLedger } from '../tools/scopes.js';
import { Happenings } from '../tools/waiting.js';
import { WatchedPool } from '../tools/watched-pool.js';
import type { TestDatabase } from './databases.js';
import type { AppDescription, Call, Host, Reply, RequestLimits, Route, RunningHost } from './host.js';

/** @internal */
export interface StageOptions {
  /** True if the application has an error handler of its own. Default true. */
  readonly ownErrorHandler?: boolean;
  readonly limits?: RequestLimits;
  readonly before?: AppDescription['before'];
  /** Called besides, with every error that reached the application's error handler. */
  readonly onError?: AppDescription['onError'];
  readonly scopeOptions?: AppDescription['scopeOptions'];
  /** The same host with routes of the test's own. */
  readonly host?: Host;
  /** Another container than ours; it must tell the ledger of its scopes. */
  readonly container?: (ledger: ScopeLedger, pool: IDatabasePool) => IContainer;
}

type Work = (call: Call) => Promise<Reply | void> | Reply | void;

/** @internal One test's application on a host and a database, its clients, and the books that must balance in the end. */
export class Stage {
  readonly happenings = new Happenings();
  readonly scopes = new ScopeLedger(this.happenings);
  readonly pool: WatchedPool;
  /** The errors that reached the application's error handler. */
  readonly errors: unknown[] = [];
  readonly disposeErrors: unknown[] = [];
  /** Failures of transactions that changed no outcome. */
  readonly remarks: TransactionError[] = [];
  readonly orderId: string = crypto.randomUUID();
  readonly host: Host;
  readonly database: TestDatabase;
  readonly #warnings: Error[] = [];
  readonly #clients: RawClient[] = [];
  readonly #undo: (() => void)[] = [];
  #container: IContainer | undefined;
  #running: RunningHost | undefined;
  #closing: Promise<void> | undefined;

  constructor(host: Host, database: TestDatabase) {
    this.host = host;
    this.database = database;
    this.pool = new WatchedPool(database.pool, this.happenings);
    const onWarning = (warning: Error): void => void this.#warnings.push(warning);
    process.on('warning', onWarning);
    this.#undo.push(() => process.off('warning', onWarning));
  }

  /** The application container; a test may add to it before it serves. */
  get app(): Container {
    return this.#useContainer() as Container;
  }

  async serve(
    routes: readonly Route[],
    {
      container,
      host = this.host,
      limits = {},
      before,
      scopeOptions,
      onError,
      ownErrorHandler = true,
    }: StageOptions = {},
  ): Promise<void> {
    if (container) this.#container = container(this.scopes, this.pool);
    this.#running = await host.start({
      container: this.#useContainer(),
      routes,
      onDisposeError: (error) => {
        this.disposeErrors.push(error);
        this.happenings.tell();
      },
      ownErrorHandler,
      limits,
      before,
      scopeOptions,
      onError: (error) => {
        onError?.(error);
        this.errors.push(error);
        this.happenings.tell();
      },
    });
  }

  /** `GET /` without a transaction. */
  serveRequest(handle: Work, options?: StageOptions): Promise<void> {
    return this.serve([{ method: 'GET', path: '/', handle }], options);
  }

  /** `POST /orders` in a transaction, and `GET /ping` beside it. */
  serveOrder(
    handle: Work,
    {
      transaction = {},
      responseDecides = false,
      ...options
    }: StageOptions & Omit<Route, 'method' | 'path' | 'handle'> = {},
  ): Promise<void> {
    const settings = { onError: (error: TransactionError) => void this.remarks.push(error), ...transaction };
    return this.serve(
      [
        { method: 'POST', path: '/orders', transaction: settings, responseDecides, handle },
        { method: 'GET', path: '/ping', handle: () => ({ kind: 'text', text: 'pong' }) },
      ],
      options,
    );
  }

  /** Writes this test's order in the transaction of the call. */
  async insertOrder({ transactionScope }: Pick<Call, 'transactionScope'>, id: string = this.orderId): Promise<void> {
    await transactionScope.resolve<IConnection>('IConnection').query('INSERT INTO orders (id) VALUES ($1)', [id]);
  }

  /** A handler that writes this test's order, then does the work, and says by default that the order is there. */
  orderThen(work: Work): (call: Call) => Promise<Reply> {
    return async (call) => {
      await this.insertOrder(call);
      return (await work(call)) ?? CREATED;
    };
  }

  /** The handler that writes this test's order, and says so. */
  readonly createOrder = this.orderThen(() => undefined);

  /** The handler that writes the order with the `id` of the body. */
  readonly createOwnOrder = async (call: Call): Promise<Reply> => {
    await this.insertOrder(call, (call.body as { id: string }).id);
    return { kind: 'json', status: 201, body: call.body };
  };

  /** Writes this test's order, which COMMIT will refuse. */
  async insertRefusedOrder({ transactionScope }: Pick<Call, 'transactionScope'>): Promise<void> {
    const sql = 'INSERT INTO orders (id, product) VALUES ($1, $2)';
    await transactionScope.resolve<IConnection>('IConnection').query(sql, [this.orderId, 'no such product']);
    if (this.database.defersConstraints) return;
    // MariaDB checks nothing at COMMIT: there the test itself refuses it, as a server does that has rolled back.
    this.pool.before('commit', async ({ inner }) => {
      await inner.rollback();
      throw Object.assign(new Error('There is no such product'), { code: '23503' });
    });
  }

  /** True if the order is there, as anybody else sees it. */
  async stored(id = this.orderId): Promise<boolean> {
    const rows = await this.database.pool.query('SELECT id FROM orders WHERE id = $1', [id]);
    return rows.length === 1;
  }

  get port(): number {
    return this.#running!.port;
  }

  async client(): Promise<RawClient> {
    const client = await RawClient.connect(this.port);
    this.#clients.push(client);
    return client;
  }

  /** A client that has sent the requests, and waits for their responses. */
  async sends(...requests: RequestText[]): Promise<RawClient> {
    const client = await this.client();
    client.send(...requests);
    return client;
  }

  async request(request: RequestText): Promise<RawResponse> {
    return (await this.client()).request(request);
  }

  get(path = '/'): Promise<RawResponse> {
    return this.request({ path });
  }

  order(): Promise<RawResponse> {
    return this.request(ORDER);
  }

  /** Resolves when everything that happens after the response has happened. */
  async quiet(): Promise<void> {
    await this.scopes.allDisposed();
    await this.happenings.until(() => this.pool.out.size === 0, 'every connection came back');
  }

  /** Stops the application as SIGTERM would. */
  close(): Promise<void> {
    this.#closing ??= this.#running?.close() ?? Promise.resolve();
    return this.#closing;
  }

  /** Checks what is true after every test: all scopes disposed, once; all connections came back, once; no warning. */
  async balance(): Promise<void> {
    try {
      for (const client of this.#clients) client.leave();
      await this.quiet();
      await this.close();
      const balance = {
        scopesDisposedTwice: this.scopes.disposedTwice,
        connectionsBack: this.pool.steps.filter((step) => step === 'release' || step === 'destroy').length,
        callersThatWait: this.pool.size.waiting,
        warnings: this.#warnings,
      };
      assert.deepEqual(balance, {
        scopesDisposedTwice: [],
        connectionsBack: this.pool.checkedOut,
        callersThatWait: 0,
        warnings: [],
      });
    } finally {
      for (const undo of this.#undo) undo();
      // One leak must not be every later test's failure.
      for (const leaked of this.pool.out) leaked.release(true);
    }
  }

  /** Takes all the connections there are; what it returns gives them back. */
  async takeAllConnections(): Promise<() => void> {
    const { pool, writers } = this.database;
    const taken = await Promise.all(Array.from({ length: writers }, () => pool.getConnection()));
    const returnConnections = (): void => taken.splice(0).forEach((connection) => connection.release());
    this.#undo.push(returnConnections);
    return returnConnections;
  }

  /** Every scope is disposed, and no request waits for a connection. */
  async nobodyWaits(): Promise<void> {
    await this.scopes.allDisposed();
    await this.happenings.until(() => this.database.pool.size?.waiting === 0, 'nobody waits for a connection');
  }

  #useContainer(): IContainer {
    if (this.#container) return this.#container;
    const app = new Container(new MetadataInjector(), { tags: ['application'] });
    app.addRegistration(
      Registration.fromValue<IDatabasePool>(this.pool).to('IDatabasePool'),
      Registration.fromFactory(() => ({ requestId: crypto.randomUUID() }))
        .pipe(singleton(), scope(hasTag('request')))
        .to('IRequestContext'),
    );
    this.#undo.push(this.scopes.follow(app));
    this.#container = app;
    return app;
  }
}

/** @internal */
export const ORDER: RequestText = { method: 'POST', path: '/orders', body: { items: [] } };
/** @internal */
export const CREATED: Reply = { kind: 'json', status: 201, body: { created: true } };
