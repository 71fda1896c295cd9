import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { observeCreations, openScopes } from '@ambit/container/tools';
import { listen, outboxTroubles, outgoingCalls, PoolUsage } from './channels.js';
import { definitionsOf } from './definitions.js';
import { Drawing } from './graph-view.js';
import { createHandler, urlOf } from './handler.js';
import { blockedLoop } from './loop.js';
import { OpenPages } from './open-pages.js';
import { type InspectorOptions, type Settings, settingsOf } from './options.js';
import type { Arrival, RequestRecord } from './requests.js';
import { Store } from './store.js';
import type { Facts } from './tools.js';
import type { Hello, Line } from './wire.js';

const TICK_MS = 250;
/** A page that reloads or reconnects within this time finds all recorded requests. */
const LINGER_MS = 5000;
/** For so long it records after the last call of a tool. */
const LOOK_MS = 600_000;
const LINK_HEADER = 'x-debug-token-link';
const LONGEST_ID = 100;

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
  readonly #requestIdHeader: string | undefined;
  readonly #pages: OpenPages;
  readonly #settings: Settings;
  readonly #pool: PoolUsage;
  readonly #drawing: Drawing;
  readonly #request = new AsyncLocalStorage<RequestRecord>();
  /** While it records. */
  #store: Store | undefined;
  /** A new one for each recording, because the requests of each are numbered from 1. */
  #boot = '';
  #stopListening = (): void => undefined;

  /**
   * Checks the options. It records nothing until a page is open, unless the option `always` is set.
   *
   * @param options - the container, and where and for whom the page is
   * @throws `ContainerError` `AMBIT_OPTION`: an option is invalid
   */
  constructor(options: InspectorOptions) {
    const settings = settingsOf(options);
    const { container, path, token, isDevelopment, enabled, always, requestIdHeader } = settings;
    this.enabled = enabled;
    this.#path = path;
    this.#requestIdHeader = requestIdHeader;
    this.#settings = settings;
    this.#pool = new PoolUsage(container);
    this.#drawing = new Drawing(container, settings.scopes, definitionsOf);
    this.#pages = new OpenPages(
      {
        start: () => this.#start(),
        stop: () => !always && this.#stop(),
        hello: () => this.#state(),
        tick: () => this.#store?.tick(this.#pool.now()),
      },
      { tickMs: TICK_MS, lingerMs: LINGER_MS, lookMs: LOOK_MS },
    );
    if (enabled) {
      observeCreations(container);
      container.defer(() => this.close());
      if (always) this.#start();
    }
    const { links } = settings;
    const facts = this.#facts();
    const look = (): boolean => this.#look();
    this.handle = createHandler({ path, token, isDevelopment, links, pages: this.#pages, facts, look });
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
    const store = this.#store;
    const header = this.#requestIdHeader;
    const requestId = header === undefined ? undefined : () => textOf(response.getHeader(header));
    if (!store) return next();
    const record = store.arrive({ method, route, lost: () => socket.destroyed, ...(requestId && { requestId }) });
    // As Symfony's profiler names it; a log line of the response can have it, too.
    response.setHeader(LINK_HEADER, `${this.#path}/#/requests/${this.#boot}-${record.id}`);
    const finish = (): void => store.complete(record, response.writableFinished ? response.statusCode : undefined);
    response.on('finish', finish);
    response.on('close', finish);
    this.#request.run(record, next);
  }

  /**
   * Records that a handler of the current request has failed, where the host knows it.
   *
   * @param error - what it threw
   */
  failed(error: unknown): void {
    this.#store?.failed(error);
  }

  /** Disconnects the open pages, so that the server can close, and stops recording. */
  close(): void {
    this.#pages.closeAll();
    this.#stop();
  }

  /** When somebody looks, the application has registered what it has. */
  #state(): Hello | undefined {
    const store = this.#store;
    if (!store) return undefined;
    store.graphIs(this.#drawing.signs());
    const { limitMs, slowMs, keep, keepTrouble, always } = this.#settings;
    const settings = { limitMs, slowMs, keep, keepTrouble, always };
    return { boot: this.#boot, ...settings, ...store.all(this.#pool.now()) };
  }

  #facts(): Facts {
    return {
      state: () => this.#state(),
      store: () => this.#store,
      drawing: {
        view: () => this.#drawing.view(),
        definition: (node) => this.#drawing.definition(node),
        // It opens scopes to look at them.
        explain: (node) => {
          const explain = (): string | undefined => this.#drawing.explain(node);
          return this.#store ? this.#store.unrecorded(explain) : explain();
        },
      },
    };
  }

  /** Returns whether nothing was recorded before. */
  #look(): boolean {
    const isFirst = this.#store === undefined;
    this.#pages.look();
    return isFirst;
  }

  #start(): void {
    if (this.#store) return;
    const { container, lines } = this.#settings;
    const now = (): number => performance.now();
    const current = (): RequestRecord | undefined => {
      const record = this.#request.getStore();
      return record?.includes(now()) ? record : undefined;
    };
    const definition = (key: string): string | undefined => this.#drawing.definition(key);
    const store = new Store(container, openScopes(container), { ...this.#settings, now, current, definition });
    const stops = [
      listen(store, { lines }),
      outgoingCalls(store),
      outboxTroubles(store),
      this.#pool.watch(),
      blockedLoop(store),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop());
    this.#store = store;
    this.#boot = randomUUID().slice(0, 8);
    this.watching = true;
  }

  /** While nothing is recorded, no channel has a subscriber and no asynchronous context is kept. */
  #stop(): void {
    this.watching = false;
    this.#store = undefined;
    this.#stopListening();
    this.#request.disable();
  }
}

function textOf(header: number | string | readonly string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header).slice(0, LONGEST_ID);
}

const recorded = channel('ambit:inspector:line');

/**
 * Shows a line of a log, or of an audit trail, in the request on whose behalf the code runs, if the option `lines` of the inspector is set.
 * Call it from the transport of the logger. While nobody looks, it costs a comparison.
 *
 * @param line - where it comes from, such as `log` or `audit`, its level, and its text, which the page shows as it is
 *
 * @example
 * ```ts
 * import { recordLine } from '@ambit/inspector';
 *
 * const logger = {
 *   info(text: string): void {
 *     console.log(text);
 *     recordLine({ source: 'log', level: 'info', text });
 *   },
 * };
 * logger.info('order placed');
 * ```
 */
export function recordLine(line: Line): void {
  if (recorded.hasSubscribers) recorded.publish(line);
}
