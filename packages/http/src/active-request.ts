import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import { Connection } from './connection.js';
import type { ConnectedRequest } from './connection-parts.js';
import { Connections } from './connections.js';
import { HttpError } from './errors.js';
import { mayNotWait, PendingTurn } from './pending-turn.js';
import type { RequestHost } from './request-host.js';
import type { ScopelessRequest, ScopeOpener } from './scope-opener.js';

type Done = (error?: unknown) => void;

/**
 * A request with its scope, from its arrival until its response is sent or its client has disconnected; it finishes once.
 *
 * Neither `finish` nor `close` of the response is certain to come: an upload that is cut off ends without `finish`, and
 * of pipelined requests only the first is notified that the socket died. So the connection listens to the socket as well.
 */
export class ActiveRequest implements ConnectedRequest, ScopelessRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Its neighbours on the connection. */
  older: ConnectedRequest | undefined = undefined;
  newer: ConnectedRequest | undefined = undefined;
  /** Undefined until it is opened. */
  scope: IContainer | undefined = undefined;
  isFinished = false;
  /** The client left before it had its response. */
  isDisconnected = false;
  /** The disposal of its scope has begun. */
  isDisposed = false;
  readonly #host: RequestHost;
  readonly #connection: Connection;
  /** What it waits for. */
  #turn: PendingTurn | undefined = undefined;
  #hasTurn = false;
  /** It counts as in progress in the application. */
  #hasEntered = false;
  #disposing: Promise<void> | undefined = undefined;
  #abort: AbortController | undefined = undefined;
  #onDisconnect: ((reason: HttpError) => void) | undefined = undefined;
  #onFinished: (() => void)[] | undefined = undefined;

  constructor(req: IncomingMessage, res: ServerResponse, host: RequestHost) {
    this.req = req;
    this.res = res;
    this.#host = host;
    const connection = Connection.of(req) ?? Connection.open(req, host.connections ?? Connections.ofSocket(req.socket));
    this.#connection = connection;
    connection.add(this);
    if (!host.callsFinish) {
      // The compatibility layer of HTTP/2 emits `finish` in every case, also when the stream was cut off.
      res.on('finish', () => this.finish(req.httpVersionMajor > 1 && !this.isWhole));
      res.on('close', () => this.finish(true));
    }
    // Behind a middleware that takes its time, the server may have begun to close,
    if (connection.connections?.isClosing) connection.sayCloseLate(this);
    // and all that we listen for may have happened.
    if (this.isWhole || !connection.isAlive || connection.isFinishing) this.finish(!this.isWhole);
  }

  /** That of a request, unless it has finished. */
  static of(req: IncomingMessage, res: ServerResponse): ActiveRequest | undefined {
    for (const request of Connection.of(req) ?? [])
      if (request.res === res && request instanceof ActiveRequest) return request;
    return undefined;
  }

  /** Aborts when the client has disconnected before it had its response. Made when first asked for. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.isDisconnected) this.#abort.abort(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    }
    return this.#abort.signal;
  }

  /** Notifies one listener of what the signal says, for much less than a signal costs. */
  onDisconnect(listener: (reason: HttpError) => void): void {
    this.#onDisconnect = listener;
    if (this.isDisconnected) listener(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
  }

  whenFinished(): Promise<void> {
    return new Promise((resolve) => void (this.#onFinished ??= []).push(resolve));
  }

  /**
   * Has the request scope opened, then `done` called, once fewer requests of the connection are in progress than the limit. `done`
   * is called with the error where there is no scope, and never where the connection closes before.
   */
  open(opener: ScopeOpener, done: Done): void {
    const connection = this.#connection;
    const { maxPerConnection } = this.#host.load;
    if (this.isFinished) {
      // Behind what Node refused, no more requests are taken.
      if (!connection.isFinishing) opener(this, done);
    } else if ((this.#hasTurn = connection.takeTurn(maxPerConnection))) this.#enter(opener, done);
    else this.#wait(opener, done);
  }

  /** Called by the opener. The scope of a request that has finished is disposed at once. */
  openScope(parent: IContainer, options: { tags: string[] }): IContainer {
    try {
      const scope = (this.scope = parent.createScope(options));
      scope.register('IRequestSignal', () => this.signal);
      return scope;
    } finally {
      if (this.isDisposed) void this.disposeScope();
    }
  }

  /** Disposes the scope once. Returns a promise where there may be something to wait for; it never rejects unreported. */
  dispose(reason?: unknown): Promise<void> | undefined {
    if (!this.isDisposed) {
      this.isDisposed = true;
      this.#disposing = this.disposeAll(reason);
    }
    return this.#disposing;
  }

  lose(): void {
    this.finish(true);
  }

  finishIfSent(): void {
    if (this.isWhole || this.res.destroyed) this.finish(!this.isWhole);
  }

  /** The response is out, or it never will be because the client has disconnected. */
  finish(isDisconnected: boolean): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.isDisconnected = isDisconnected;
    this.#connection.remove(this);
    // The signal first: what it stops is stopped with the true reason, before the disposal of the scope stops it anyway.
    if (isDisconnected) {
      this.#abort?.abort(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
      this.#onDisconnect?.(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    }
    this.#turn?.cancel();
    if (this.#hasEntered) this.#host.load.leave();
    this.finished();
    for (const notify of this.#onFinished ?? []) notify();
    this.#passTurn();
  }

  /** The client has all of the response. (To Node, one of HTTP/2 to HEAD is written from the beginning.) */
  protected get isWhole(): boolean {
    return this.res.writableEnded && this.res.writableFinished;
  }

  /** Called once, when the request has finished. */
  protected finished(): void {
    void this.dispose();
  }

  protected disposeAll(_reason: unknown): Promise<void> | undefined {
    return this.disposeScope();
  }

  protected disposeScope(): Promise<void> | undefined {
    try {
      const disposing = this.scope?.dispose() ?? undefined;
      disposing?.then(undefined, (error: unknown) => this.#host.onDisposeError(error, this));
      return disposing;
    } catch (error) {
      this.#host.onDisposeError(error, this);
      return undefined;
    }
  }

  #wait(opener: ScopeOpener, done: Done): void {
    const { load } = this.#host;
    const enter = (): void => this.#enter(opener, done);
    if (mayNotWait(this)) return enter();
    if (!load.wait(this.req)) return this.#refuse(done);
    this.#turn = new PendingTurn(this, this.#connection, load, {
      take: () => void (this.#hasTurn = true),
      begin: enter,
    });
  }

  #enter(opener: ScopeOpener, done: Done): void {
    this.#hasEntered = this.#host.load.enter(this.req);
    if (this.#hasEntered) opener(this, done);
    else this.#refuse(done);
  }

  #refuse(done: Done): void {
    this.res.setHeader('retry-after', '1');
    done(new HttpError('AMBIT_HTTP_OVERLOADED'));
  }

  #passTurn(): void {
    if (this.#hasTurn) this.#connection.passTurn();
    this.#hasTurn = false;
  }
}
