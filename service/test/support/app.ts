import { type Container, onDispose, onStart, Registration, singleton } from '@ambit/container';
import { override } from '@ambit/container/tools';
import { type Exchange, exchange, Happenings, RawClient, ScopeLedger, WatchedPool } from '@ambit/test-kit';
import { migrate } from '../../src/database/migrate.js';
import { createTransactionCheck } from '../../src/infrastructure.js';
import { engineOf } from '../../src/database/engines.js';
import {
  type Config,
  createAppContainer,
  createHost,
  type Host,
  type HostOptions,
  readConfig,
} from '../../src/index.js';
import { type JsonResponse, request, type Request } from './http.js';
import { LogBook } from './log-book.js';

export type HostVariant = Config['hostVariant'];

/** On a busy machine the limits of production would refuse orders that wait for each other; only what hangs reaches these. */
const LONG_LIMITS = { ACQUIRE_TIMEOUT_MS: '55000', QUERY_TIMEOUT_MS: '55000', TRANSACTION_TIMEOUT_MS: '55000' };

/** The service in this process, built as in production except that the log is kept and the pool is watched. */
export class App implements AsyncDisposable {
  readonly happenings = new Happenings();
  readonly scopes = new ScopeLedger(this.happenings);
  readonly log = new LogBook(this.happenings);
  readonly container: Container;
  readonly pool: WatchedPool;
  /** The caller; a test may set it. */
  identify: NonNullable<HostOptions['identify']> = () => undefined;
  readonly #unfollow: () => void;
  #host: Host | undefined;
  #url = '';

  private constructor(config: Config) {
    const { database } = config;
    this.pool = new WatchedPool(engineOf(database).createPool(), this.happenings);
    this.container = createAppContainer(config);
    override(
      this.container,
      Registration.fromValue(this.log.logger).to('ILogger'),
      // Tests keep transactions open on purpose, for longer than a request ever would where the machine is busy.
      Registration.fromFactory(() => createTransactionCheck(config, this.log.logger, Infinity))
        .pipe(singleton())
        .to('ITransactionCheck'),
      Registration.fromFactory((check) => check.pool(this.pool), ['ITransactionCheck'])
        .pipe(
          singleton(),
          onStart(() => migrate(this.pool, engineOf(database), config.startTimeoutMs)),
          onDispose((pool) => pool.close()),
        )
        .to('IDatabasePool'),
    );
    this.#unfollow = this.scopes.follow(this.container);
  }

  static async start(variant: HostVariant, env: Readonly<Record<string, string>>): Promise<App> {
    const config = readConfig({ HOST_VARIANT: variant, PORT: '0', TRANSACTION_CHECK: 'throw', ...LONG_LIMITS, ...env });
    const app = new App(config);
    app.#host = await createHost(variant, app.container, {
      logger: app.log.logger,
      identify: (req) => app.identify(req),
    });
    await app.container.start();
    app.#url = await app.#host.listen(0, config.host);
    app.container.resolve('IHealth').started();
    return app;
  }

  get url(): string {
    return this.#url;
  }

  request<T = unknown>(asked: Request): Promise<JsonResponse<T>> {
    return request<T>(this.#url, asked);
  }

  client(): Promise<RawClient> {
    return RawClient.connect(this.#port);
  }

  /** Sends the bytes as they are, and looks whether the connection can be used afterwards. */
  exchange(bytes: string | Buffer): Promise<Exchange> {
    return exchange(this.#port, bytes, '/health/live');
  }

  /** Resolves when everything that happens after the responses has happened. */
  async quiet(): Promise<void> {
    await this.scopes.allDisposed();
    await this.happenings.until(() => this.pool.out.size === 0, 'every connection was returned');
  }

  async stop(): Promise<void> {
    await this.#host?.close(0);
    this.#unfollow();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  get #port(): number {
    return Number(new URL(this.#url).port);
  }
}
