import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { observeCreations } from '@ambit/container/tools';
import { definitionsOf } from './definitions.js';
import { Drawing } from './graph-view.js';
import { createHandler, OpenPages, urlOf } from './handler.js';
import { Mcp } from './mcp.js';
import { type InspectorOptions, settingsOf } from './options.js';
import { StartUpRecorder } from './start-up.js';
import { Recording } from './recording.js';
import type { Arrival } from './requests.js';
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
  readonly #startUp: StartUpRecorder | undefined;
  readonly #recording: Recording;
  readonly #drawing: Drawing;

  /**
   * Checks the options. It records nothing until a page is open, but for what is created before the first request.
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
    const recording = new Recording(settings, (key) => this.#drawing.definition(key));
    this.#recording = recording;
    this.#pages = new OpenPages(
      {
        start: () => this.#start(),
        stop: () => !always && this.#stop(),
        hello: () => this.#state(),
        tick: () => recording.tick(),
      },
      { tickMs: TICK_MS, lingerMs: LINGER_MS, lookMs: LOOK_MS },
    );
    if (enabled) {
      observeCreations(container);
      container.defer(() => this.close());
      this.#startUp = new StartUpRecorder(container);
      // Until the first request, which `follow()` then notices.
      this.watching = true;
      if (always) recording.start();
    }
    this.#drawing = new Drawing(container, settings.scopes, definitionsOf);
    const drawing = {
      view: () => this.#drawing.view(),
      definition: (node: string) => this.#drawing.definition(node),
      explain: (node: string) => recording.unrecorded(() => this.#drawing.explain(node)),
    };
    const facts = {
      drawing,
      state: () => this.#state(),
      routes: () => recording.current?.routes(),
      statements: () => recording.current?.statements.table.all(),
      details: (id: number) => recording.current?.details(id),
    };
    const { state, routes, statements, details } = facts;
    this.handle = createHandler({
      path,
      token,
      isDevelopment,
      links: settings.links,
      pages: this.#pages,
      drawing,
      mcp: new Mcp(facts, () => this.#look()),
      data: { state, routes, statements, startup: () => this.#startUp?.state() },
      details,
      sample: (perSecond) => recording.current?.sample(perSecond),
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
    this.#startUp?.finish();
    const recorder = this.#recording.current;
    this.watching = recorder !== undefined;
    const header = this.#requestIdHeader;
    const requestId = header === undefined ? undefined : () => textOf(response.getHeader(header));
    const record = recorder?.arrive({ method, route, lost: () => socket.destroyed, ...(requestId && { requestId }) });
    if (!recorder || !record) {
      next();
      return;
    }
    // As Symfony's profiler names it; a log line of the response can have it, too.
    response.setHeader(LINK_HEADER, `${this.#path}/#/requests/${this.#recording.boot}-${record.id}`);
    const finish = (): void => {
      if (response.writableFinished) recorder.responded(record, response.statusCode);
      else recorder.aborted(record);
    };
    response.on('finish', finish);
    response.on('close', finish);
    this.#recording.run(record, next);
  }

  /**
   * Records that a handler of the current request has failed, where the host knows it.
   *
   * @param error - what it threw
   */
  failed(error: unknown): void {
    this.#recording.current?.failed(error);
  }

  /** Disconnects the open pages, so that the server can close, and stops recording. */
  close(): void {
    this.#startUp?.finish();
    this.#pages.closeAll();
    this.#stop();
  }

  /** When somebody looks, the application has registered what it has. */
  #state(): Hello | undefined {
    this.#recording.current?.graphIs(this.#drawing.signs());
    return this.#recording.hello();
  }

  /** Returns whether nothing was recorded before. */
  #look(): boolean {
    const isFirst = this.#recording.current === undefined;
    this.#pages.look();
    return isFirst;
  }

  #start(): void {
    this.#recording.start();
    this.watching = true;
  }

  #stop(): void {
    this.watching = false;
    this.#recording.stop();
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
