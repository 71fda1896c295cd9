import type { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { TransactionError } from '@ambit/transaction';
import { realRequest } from '../calls.js';
import { pairsOf, unpackedBytes } from '../data.js';
import type { Replaying } from './replaying.js';

/** An application of Fastify. */
interface ReadyServer {
  ready(): PromiseLike<unknown>;
  readonly server: Server;
}

/** An application of NestJS. */
interface InitializedServer {
  init(): Promise<unknown>;
  getHttpServer(): unknown;
}

/** An application of Hono, or a fetch handler. */
interface FetchServer {
  fetch(request: Request): Response | Promise<Response>;
}

type Application = RequestListener | Server | ReadyServer | InitializedServer | FetchServer;

/**
 * An application of Express, Fastify, Hono or NestJS, a listener or a server of `node:http`, or `{ fetch }`; or a function without parameters that
 * gives one of these, such as one that imports it.
 */
export type ReplayableApplication = Application | (() => Application | Promise<Application>);

/** The response that the client of a replayed request receives; it has no status if the client has left. */
export interface Received {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The port of the client: by it the server tells the replayed request from others. */
export class Client {
  port: number | undefined = undefined;
  /** A function has given it, for this replay. */
  #given: Application | undefined = undefined;

  isOf(request: IncomingMessage): boolean {
    return this.port !== undefined && request.socket.remotePort === this.port;
  }

  async send(
    application: ReplayableApplication,
    replaying: Replaying,
    contexts: AsyncLocalStorage<Replaying | undefined>,
  ): Promise<Received> {
    const app = await made(application);
    if (app !== application) this.#given = app;
    if (closed.has(app))
      throw new TransactionError(
        'AMBIT_OPTION',
        'This application was closed after a replay: give a function that makes another one, or the application itself, which stays open',
      );
    if (typeof app === 'function' && 'openRequests' in app)
      return this.#fetch({ fetch: app as never }, replaying, contexts);
    if (typeof app === 'function') return this.#over(createServer(app), replaying);
    if ('fetch' in app) return this.#fetch(app, replaying, contexts);
    if ('ready' in app) await app.ready();
    else if ('init' in app) await app.init();
    const server = 'ready' in app ? app.server : 'init' in app ? app.getHttpServer() : app;
    if (typeof (server as Partial<Server>).listen !== 'function')
      throw new TransactionError('AMBIT_OPTION', 'replay() needs an application, a server, a listener or { fetch }');
    return this.#over(server as Server, replaying);
  }

  /** Its timers and consumers would outlive the replay. */
  async close(): Promise<void> {
    const given: (Application & { close?: () => unknown }) | undefined = this.#given;
    if (typeof given?.close !== 'function' || closed.has(given)) return;
    closed.add(given);
    const late = setTimeout(() => process.emitWarning('close() of the replayed application takes long'), LONG_CLOSE_MS);
    try {
      await given.close();
    } catch (error) {
      process.emitWarning(error as Error);
    } finally {
      clearTimeout(late);
    }
  }

  async #fetch(
    app: FetchServer,
    replaying: Replaying,
    contexts: AsyncLocalStorage<Replaying | undefined>,
  ): Promise<Received> {
    const { method, url, headers, body } = replaying.recording.request;
    const leaves = new AbortController();
    const left = new Promise<undefined>((resolve) => {
      leaves.signal.addEventListener('abort', () => resolve(undefined));
    });
    this.#leaveWith(replaying, () => leaves.abort());
    const request = new Request(new URL(url, 'http://localhost'), {
      method,
      headers: headers.filter(([name]) => !OF_CONNECTION.test(name)) as [string, string][],
      signal: leaves.signal,
      ...(body && { body: new Uint8Array(unpackedBytes(body)) }),
    });
    // As recorded: what a fetch handler throws, its host responds to.
    const responding = contexts
      .run(replaying, async () => app.fetch(request))
      .catch((error: unknown) => {
        replaying.failed(error);
        return new Response(undefined, { status: 500 });
      });
    const response = await Promise.race([responding, left]);
    if (!response) return { status: undefined, headers: {}, body: Buffer.alloc(0) };
    const received = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: Object.fromEntries(response.headers), body: received };
  }

  async #over(server: Server, replaying: Replaying): Promise<Received> {
    const isOurs = !server.listening;
    if (isOurs) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
    }
    try {
      return await this.#request((server.address() as AddressInfo).port, replaying);
    } finally {
      if (isOurs) {
        server.close();
        server.closeAllConnections();
      }
    }
  }

  async #request(port: number, replaying: Replaying): Promise<Received> {
    const { method, url, headers, body } = replaying.recording.request;
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    this.port = socket.localPort;
    const content = body && unpackedBytes(body);
    const lines = headers.filter(([name]) => !OF_CONNECTION.test(name)).flat();
    const request = realRequest({
      method,
      path: url,
      setHost: false,
      createConnection: () => socket,
      headers: [
        ...lines,
        'connection',
        'close',
        ...(content ? ['content-length', String(content.length)] : []),
      ] as never,
    });
    this.#leaveWith(replaying, () => setImmediate(() => request.destroy()));
    const responding = once(request, 'response') as Promise<[IncomingMessage]>;
    request.end(content);
    try {
      const [response] = await responding;
      const chunks: Uint8Array[] = [];
      for await (const chunk of response) chunks.push(chunk as Uint8Array);
      const received = Object.fromEntries(pairsOf(response.headers));
      return { status: response.statusCode, headers: received, body: Buffer.concat(chunks) };
    } catch (error) {
      if (!request.destroyed) throw error;
      return { status: undefined, headers: {}, body: Buffer.alloc(0) };
    }
  }

  /** The client of the recording left after so many steps had begun. */
  #leaveWith(replaying: Replaying, leave: () => void): void {
    const { leftAfter } = replaying.recording.outcome;
    if (leftAfter === undefined) return;
    replaying.onStep = () => {
      if (replaying.begun >= leftAfter) leave();
    };
  }
}

const LONG_CLOSE_MS = 3000;
const closed = new WeakSet<object>();

/** The application itself, where a function gives it. */
export async function made(application: ReplayableApplication): Promise<Application> {
  let app = application;
  while (isFactory(app)) app = await app();
  return app;
}

/** An application of Express, and a listener, have parameters. */
function isFactory(one: ReplayableApplication): one is () => Application | Promise<Application> {
  return typeof one === 'function' && one.length === 0 && !('openRequests' in one);
}

const OF_CONNECTION = /^(?:connection|keep-alive|content-length|transfer-encoding|upgrade|expect|te|trailer)$/i;
