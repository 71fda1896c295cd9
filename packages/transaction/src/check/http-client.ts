import { CallStack } from './place.js';
import type { Rules } from './rules.js';

/** A request of `node:http`. */
export interface ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly protocol: string;
  readonly host: string;
  readonly socket: object | null;
  getHeader(name: 'host'): string | undefined;
  destroy(error: Error): unknown;
}

/** A request of `fetch()`, and of undici. */
export interface UndiciRequest {
  readonly method: string;
  readonly origin: unknown;
  readonly path: string;
}

/** Checks the requests that this process sends, as Node and undici publish them. */
export class HttpClientCheck {
  readonly #rules: Rules;
  readonly #known = new WeakSet<ClientRequest>();
  /** Who has opened it. */
  readonly #sockets = new WeakMap<object, CallStack>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** Since Node 22.12: by the call itself, before anything is sent. */
  created(request: ClientRequest): void {
    this.#known.add(request);
    const found = this.#rules.httpRequest(targetOf(request));
    if (found) request.destroy(found.refusal);
  }

  /** Node 20 publishes a request when it is written, and by then only the connection that was opened for it knows the call. */
  connected(socket: object): void {
    if (this.#rules.isInTransaction) this.#sockets.set(socket, new CallStack());
  }

  started(request: ClientRequest): void {
    if (this.#known.has(request)) return;
    const opened = request.socket ? this.#sockets.get(request.socket) : undefined;
    if (request.socket) this.#sockets.delete(request.socket);
    const found = this.#rules.httpRequest(targetOf(request), opened);
    if (!found) return;
    // On a connection that was kept alive it has been sent already.
    found.hold.failures.push(found.refusal);
    request.destroy(found.refusal);
  }

  /** By the call of `fetch()`, which nobody but its caller can cancel. */
  fetched({ method, origin, path }: UndiciRequest): void {
    const found = this.#rules.httpRequest(`${method} ${String(origin)}${withoutQuery(path)}`);
    found?.hold.failures.push(found.refusal);
  }
}

function targetOf(request: ClientRequest): string {
  const { method, protocol, host, path } = request;
  return `${method} ${protocol}//${request.getHeader('host') ?? host}${withoutQuery(path)}`;
}

/** It may hold secrets. */
function withoutQuery(path: string): string {
  return path.replace(/[?#][^]*/, '');
}
