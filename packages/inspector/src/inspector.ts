import { openScopes } from '@ambit/container/tools';
import type { PoolSize } from '@ambit/transaction';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen } from './channels.js';
import { Drawing } from './graph-view.js';
import { createHandler, urlOf } from './handler.js';
import { OpenPages } from './open-pages.js';
import { type InspectorOptions, settingsOf } from './options.js';
import { Recorder } from './recorder.js';
import type { Arrival, RequestRecord } from './request-record.js';
import type { Hello } from './wire.js';

const TICK_MS = 250;
/** A page that reloads or reconnects within this time finds all recorded requests. */
const LINGER_MS = 5000;

/** A request of the host, and its route, which only the host knows. */
export interface Followed extends Pick<Arrival, 'route'> {
  /** The request of Node. */
  readonly raw: IncomingMessage;
}

/**
 * The inspector without a host: what the adapters for Express and Fastify are made of.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { Container } from '@ambit/container';
 *
 * const inspector = new Inspector({ container: new Container({ tags: ['application'] }), scopes: { tags: ['request'] } });
 * createServer((req, res) => {
 *   const respond = () => void res.end('hello');
 *   if (inspector.enabled && inspector.owns(req)) inspector.handle(req, res);
 *   else if (inspector.watching) inspector.follow({ raw: req, route: () => '/' }, res, respond);
 *   else respond();
 * }).listen(3000);
 * ```
 */
export class Inspector {
  /** The option `enabled`. If it is false, the host serves no page and records nothing. */
  readonly enabled: boolean;
  /** Responds to a request of the inspector, one that it owns. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Whether a page is open. While none is, this check is all that a request costs. */
  watching = false;
  readonly #path: string;
  readonly #pages: OpenPages;
  readonly #current = new AsyncLocalStorage<RequestRecord>();
  #recorder: Recorder | undefined;

  /**
   * Checks the options. It records nothing until a page is open.
   *
   * @param options - the container, and where and for whom the page is
   * @throws `InspectorError` `AMBIT_INSPECTOR_OPTION`: an option is invalid
   */
  constructor(options: InspectorOptions) {
    const settings = settingsOf(options);
    const { container, path, token, limitMs, keep, keepTrouble, enabled } = settings;
    this.enabled = enabled;
    this.#path = path;
    let boot = '';
    const pool = poolOf(container);
    const now = (): number => performance.now();
    const current = (): RequestRecord | undefined => this.#current.getStore();
    let stop = (): void => undefined;

    this.#pages = new OpenPages(
      {
        start: () => {
          const recorder = new Recorder(container, openScopes(container), { ...settings, now, current });
          stop = listen(recorder);
          this.#recorder = recorder;
          // Its requests have the same numbers as those of the recorder before.
          boot = randomUUID();
          this.watching = true;
        },
        stop: () => {
          this.watching = false;
          this.#recorder = undefined;
          stop();
          this.#current.disable();
        },
        hello: (): Hello | undefined =>
          this.#recorder && { boot, limitMs, keep, keepTrouble, ...this.#recorder.all(pool()) },
        tick: () => this.#recorder?.tick(pool()),
      },
      { tickMs: TICK_MS, lingerMs: LINGER_MS },
    );
    this.handle = createHandler({
      path,
      token,
      links: settings.links,
      pages: this.#pages,
      drawing: new Drawing(container, settings.scopes),
      details: (id) => this.#recorder?.details(id),
      unrecorded: (work) => (this.#recorder ? this.#recorder.unrecorded(work) : work()),
    });
  }

  /**
   * Whether this request is for the inspector itself.
   *
   * @param request - the request
   * @returns true if its path is that of the inspector, or below
   */
  owns(request: IncomingMessage): boolean {
    const url = urlOf(request);
    if (!url.startsWith(this.#path)) return false;
    const next = url[this.#path.length];
    return next === undefined || next === '/' || next === '?';
  }

  /**
   * Records a request until its response is complete.
   *
   * @param options - the request, and its route
   * @param response - its response
   * @param next - continues with the request
   */
  follow({ raw: { method = '', socket }, route }: Followed, response: ServerResponse, next: () => void): void {
    const recorder = this.#recorder;
    const record = recorder?.arrive({ method, route, lost: () => socket.destroyed });
    if (!recorder || !record) {
      next();
      return;
    }
    const finish = (): void => {
      if (response.writableFinished) recorder.responded(record, response.statusCode);
      else recorder.aborted(record);
    };
    response.on('finish', finish);
    response.on('close', finish);
    this.#current.run(record, next);
  }

  /** Disconnects the open pages, so that the server can close. */
  close(): void {
    this.#pages.closeAll();
  }
}

/** The size of the application's connection pool, if it has one that reports its size. */
function poolOf(container: InspectorOptions['container']): () => PoolSize | undefined {
  return () => {
    try {
      if (container.disposed || !container.has('IDatabasePool')) return undefined;
      const { size } = container.resolve<{ readonly size?: PoolSize }>('IDatabasePool' as string);
      return size && { open: size.open, idle: size.idle, waiting: size.waiting };
    } catch {
      return undefined;
    }
  };
}
