import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Container } from '@ambit/container';
import { observeCreations, openScopes } from '@ambit/container/tools';
import type { ObservedWork } from '@ambit/transaction/extension';
import { listen, outgoingCalls, poolOf, unhandledRejections } from './channels.js';
import { Drawing } from './graph-view.js';
import { createHandler, urlOf } from './handler.js';
import { blockedLoop } from './loop.js';
import { type InspectorOptions, type Settings, settingsOf } from './options.js';
import { planOf } from './plan.js';
import type { Arrival, RequestRecord } from './requests.js';
import { Store } from './store.js';
import { growthOf, measure } from './trend.js';
import { type Call, type Facts, readTool } from './tools.js';
import type { State } from './wire.js';

/** For so long it records after the last look of a page, an agent or the terminal. */
const LOOK_MS = 600_000;
const LINK_HEADER = 'x-debug-token-link';

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
  /** True while it records. Otherwise this check is all that a request costs. */
  watching = false;
  readonly #settings: Settings;
  readonly #drawing: Drawing;
  readonly #growth: ReturnType<typeof growthOf>;
  readonly #request = new AsyncLocalStorage<RequestRecord | undefined>();
  /** While it records. */
  #store: Store | undefined;
  /** A new one for each recording, because the requests of each are numbered from 1. */
  #boot = '';
  #stopListening = (): void => undefined;
  #stopping: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * Checks the options. It records nothing until somebody looks, unless the option `always` is set.
   *
   * @param options - the container, and where and for whom the page is
   * @throws `ContainerError` `AMBIT_OPTION`: an option is invalid
   */
  constructor(options: InspectorOptions) {
    const settings = settingsOf(options);
    const { container, enabled, always } = settings;
    this.enabled = enabled;
    this.#settings = settings;
    this.#drawing = new Drawing(container, settings.scopes);
    this.#growth = growthOf(container);
    if (enabled) {
      observeCreations(container);
      container.defer(() => this.close());
      if (always) this.#start();
    }
    const plan = async (sql: string): Promise<string[]> => planOf(container.resolve('IDatabasePool' as string), sql);
    const facts: Facts = { state: () => this.#state(), store: () => this.#store, plan, drawing: this.#drawing };
    const call: Call = (tool, args) => readTool(facts, tool, args, this.#look());
    this.handle = createHandler(settings, call, (boot, since) => {
      this.#look();
      return this.#state(boot === this.#boot ? since : 0);
    });
  }

  /**
   * Says if this request is for the inspector itself.
   *
   * @param request - the request
   * @returns true if its path is that of the inspector, or below
   */
  owns(request: IncomingMessage): boolean {
    const url = urlOf(request);
    const { path } = this.#settings;
    return url.startsWith(path) && ['/', '?', undefined].includes(url[path.length]);
  }

  /**
   * Records a request until its response is complete.
   *
   * @param options - the request, and its route
   * @param response - its response
   * @param next - continues with the request
   */
  follow({ raw, route }: Followed, response: ServerResponse, next: () => void): void {
    const store = this.#store;
    if (!store) return next();
    const record = store.arrive({ raw, method: raw.method ?? '', route });
    // As Symfony's profiler names it; a log line of the response can have it, too.
    response.setHeader(LINK_HEADER, `${this.#settings.path}/#/requests/${this.#boot}-${record.id}`);
    response.on('close', () => {
      if (isEndless(raw, response)) record.summary.endless = true;
      store.complete(record, response.writableFinished ? response.statusCode : undefined);
    });
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

  /** Stops recording. The container of the application does this when it is disposed. */
  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  #state(since = 0): State | undefined {
    const store = this.#store;
    if (!store) return undefined;
    // When somebody begins to look, the application has registered what it has.
    if (since === 0) store.graphIs(this.#drawing.signs());
    const { container, always } = this.#settings;
    for (const sign of this.#growth(store.arrived, (key) => this.#drawing.definition(key))) store.noticed(sign);
    return { boot: this.#boot, always, ...store.state(poolOf(container), since) };
  }

  /** Returns whether nothing was recorded before. */
  #look(): boolean {
    const isFirst = this.#store === undefined;
    this.#start();
    clearTimeout(this.#stopping);
    if (!this.#settings.always) this.#stopping = setTimeout(() => this.#stop(), LOOK_MS).unref();
    return isFirst;
  }

  #start(): void {
    if (this.#store || this.#isClosed) return;
    const { container } = this.#settings;
    const open = (): readonly Container[] => openScopes(container);
    const store = new Store(container, open(), {
      ...this.#settings,
      now: () => performance.now(),
      origin: () => this.#request.getStore(),
      definition: (key) => this.#drawing.definition(key),
      isPaused: () => this.#drawing.isLooking,
      open,
      enter: (work) => this.#request.enterWith(work),
    });
    const works = channel('ambit:work:context');
    works.bindStore(this.#request, (work) => {
      try {
        return store.works(work as ObservedWork);
      } catch {
        return this.#request.getStore();
      }
    });
    const stops = [listen, outgoingCalls, unhandledRejections, blockedLoop, measure].map((begin) => begin(store));
    this.#stopListening = () => [...stops, () => works.unbindStore(this.#request)].forEach((stop) => stop());
    this.#store = store;
    this.#boot = randomUUID().slice(0, 8);
    this.watching = true;
  }

  /** While nothing is recorded, no channel has a subscriber and no asynchronous context is kept. */
  #stop(): void {
    clearTimeout(this.#stopping);
    this.watching = false;
    this.#store = undefined;
    this.#stopListening();
    this.#request.disable();
  }
}

/** An event stream, or a WebSocket, which a host has made a response for. */
const isEndless = ({ headers }: IncomingMessage, response: ServerResponse): boolean =>
  String(response.getHeader('content-type')).startsWith('text/event-stream') ||
  (headers.upgrade === 'websocket' && !response.headersSent);
