import { randomUUID } from 'node:crypto';
import type { IContainer } from '@ambit/container';
import { startTimer } from '../clock.js';
import type { IDatabasePool } from '../contract.js';
import { report, TransactionError, warn } from '../errors.js';
import { checkFunction, checkTime, shown } from '../options.js';
import { readSandboxOptions, type Sandbox, sandbox, type SandboxOptions, type SandboxSettings } from './sandbox.js';

/** A request: one of Node's, of a framework over it, or of the Fetch API. */
export interface RequestWithHeaders {
  /** The headers as Node has them, or with a method `get()` as the Fetch API has them. */
  readonly headers:
    | Readonly<Record<string, string | readonly string[] | undefined>>
    | { get(name: string): string | null };
}

/** How requests name their sandbox, for how long a sandbox may be idle, and what each has of its own. */
export interface SandboxesOptions<R extends RequestWithHeaders = RequestWithHeaders> extends SandboxOptions {
  /** The header in which a request names its sandbox. Default `x-ambit-sandbox`. */
  readonly header?: string;
  /** After how long without a request a sandbox is rolled back, because its test has crashed. Default 60 s. */
  readonly idleTimeoutMs?: number;
  /** True if a request must name a sandbox. Default: none must; without the header it uses the application's pool. */
  readonly required?: (request: R) => boolean;
  /**
   * Gives the scope of a new sandbox its own instance of whatever the application keeps in memory for all requests, such as a
   * cache of rows. The sandbox is its `IDatabasePool` already.
   */
  readonly register?: (scope: IContainer) => unknown;
  /** Called when an idle sandbox failed to dispose. Default: a process warning. */
  readonly onError?: (error: TransactionError) => void;
}

function checkSandboxesOptions(options: SandboxesOptions<never>): void {
  checkTime('idleTimeoutMs', options.idleTimeoutMs);
  for (const name of ['required', 'register', 'onError'] as const) checkFunction(name, options[name]);
  const { header } = options;
  if (header === undefined || (typeof header === 'string' && header !== '')) return;
  throw new TransactionError('AMBIT_OPTION', `header must be the name of a header, not ${shown(header)}`);
}

function headerOf({ headers }: RequestWithHeaders, name: string): string | undefined {
  const value = isOfFetch(headers) ? headers.get(name) : headers[name];
  return typeof value === 'object' ? value?.join(', ') : value;
}

function isOfFetch(headers: RequestWithHeaders['headers']): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function';
}

interface Open {
  readonly scope: IContainer;
  readonly box: Sandbox;
  stopTimer: () => void;
}

/**
 * A sandbox for each test, in one server with one database: a request that names a sandbox in its header runs in it, so tests
 * that run in parallel do not see each other's data, and nothing is stored. For a server that is started for tests.
 *
 * @example
 * ```ts
 * import type { Container } from '@ambit/container';
 * import { createHandler } from '@ambit/http';
 * import { Sandboxes } from '@ambit/transaction/testing';
 * import { createServer } from 'node:http';
 *
 * async function serve(app: Container): Promise<void> {
 *   const sandboxes = new Sandboxes(app);
 *   const server = createServer(createHandler(sandboxes.scopeOf, (_req, res) => void res.end('Hello')));
 *   server.listen(3000);
 *   console.log('x-ambit-sandbox:', await sandboxes.create());
 * }
 * ```
 */
export class Sandboxes<R extends RequestWithHeaders = RequestWithHeaders> {
  readonly #application: IContainer;
  readonly #options: SandboxesOptions<R>;
  readonly #settings: SandboxSettings;
  readonly #header: string;
  readonly #idleTimeoutMs: number;
  readonly #open = new Map<string, Open>();
  #isClosed = false;

  /**
   * @param application - the container of the application, whose `IDatabasePool` the sandboxes take their connections from
   * @param options - the header, time limits, and what each sandbox has of its own
   * @throws `TransactionError` `AMBIT_OPTION`: an invalid option, or `NODE_ENV` is `production`
   */
  constructor(application: IContainer, options: SandboxesOptions<R> = {}) {
    if (process.env['NODE_ENV'] === 'production') {
      const what = 'Sandboxes are for tests: what clients store in them is lost, and NODE_ENV is production';
      throw new TransactionError('AMBIT_OPTION', what);
    }
    checkSandboxesOptions(options);
    const { header = 'x-ambit-sandbox', idleTimeoutMs = 60_000 } = options;
    this.#application = application;
    this.#options = options;
    this.#settings = readSandboxOptions(options);
    this.#header = header.toLowerCase();
    this.#idleTimeoutMs = idleTimeoutMs;
  }

  /** How many are open. Each has a connection of the pool. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Opens a sandbox.
   *
   * @returns its id, which requests send in the header
   * @throws `TransactionError` `AMBIT_TX_ACQUIRE_TIMEOUT`: the pool has no connection left
   * @throws `TransactionError` `AMBIT_TX_POOL_CLOSED`: `close()` was called
   * @throws what `sandbox()` and the option `register` throw
   */
  async create(): Promise<string> {
    this.#refuseIfClosed();
    const box = await sandbox(this.#application.resolve<IDatabasePool>('IDatabasePool'), this.#settings);
    try {
      this.#refuseIfClosed();
      return await this.#add(box);
    } catch (error) {
      await box.rollback();
      throw error;
    }
  }

  /**
   * Disposes the scopes of requests that are still in the sandbox, and undoes everything that was done in it.
   *
   * @param id - what `create()` returned
   * @throws `TransactionError` `AMBIT_TX_SANDBOX`: no sandbox of this id is open
   * @throws `DisposeError` `AMBIT_DISPOSE_FAILED`: a disposer of the sandbox's scope failed; all of it was undone nevertheless
   */
  async release(id: string): Promise<void> {
    await this.#end(id, this.#named(id, 'release() was called with an id that no open sandbox has'));
  }

  /** Releases all, and opens no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map(([id, open]) => this.#end(id, open)));
  }

  /**
   * The scope above that of a request: pass this function to a host in place of the application container.
   *
   * @param request - whatever has headers
   * @returns the scope of the sandbox that the request names, or the application container where it names none
   * @throws `TransactionError` `AMBIT_TX_SANDBOX` (400): the header names no open sandbox, or a required one is missing
   */
  readonly scopeOf = (request: R): IContainer => {
    const id = headerOf(request, this.#header);
    if (id !== undefined) return this.#use(id).scope;
    if (!this.#options.required?.(request)) return this.#application;
    throw new TransactionError('AMBIT_TX_SANDBOX', `The request has no header ${this.#header}, which is required here`);
  };

  async #add(box: Sandbox): Promise<string> {
    const id = randomUUID();
    const scope = this.#application.createScope({ tags: ['sandbox'] });
    const open: Open = { scope, box, stopTimer: () => undefined };
    scope.register('IDatabasePool', () => box);
    // The application may be disposed without a call of ours.
    scope.defer?.(() => {
      this.#forget(id, open);
      return box.rollback();
    });
    try {
      await this.#options.register?.(scope);
    } catch (error) {
      await scope.dispose();
      throw error;
    }
    this.#open.set(id, open);
    this.#restartTimer(id, open);
    return id;
  }

  #named(id: string, otherwise: string): Open {
    const open = this.#open.get(id);
    if (open) return open;
    throw new TransactionError('AMBIT_TX_SANDBOX', otherwise);
  }

  #use(id: string): Open {
    const open = this.#named(id, `The header ${this.#header} names no open sandbox`);
    this.#restartTimer(id, open);
    return open;
  }

  #restartTimer(id: string, open: Open): void {
    open.stopTimer();
    open.stopTimer = startTimer(this.#settings.clock, () => this.#expire(id, open), this.#idleTimeoutMs);
  }

  #expire(id: string, open: Open): void {
    // A request that takes this long is still in it.
    if (open.box.size.idle === 0) return this.#restartTimer(id, open);
    this.#end(id, open).catch((cause: unknown) => {
      const { onError = warn } = this.#options;
      report(
        { onError },
        new TransactionError('AMBIT_TX_SCOPE_FAILED', 'An idle sandbox failed to dispose', { cause }),
      );
    });
  }

  async #end(id: string, open: Open): Promise<void> {
    this.#forget(id, open);
    try {
      await open.scope.dispose();
    } finally {
      await open.box.rollback();
    }
  }

  #forget(id: string, open: Open): void {
    open.stopTimer();
    this.#open.delete(id);
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw new TransactionError('AMBIT_TX_POOL_CLOSED', 'The sandboxes are closed');
  }
}
