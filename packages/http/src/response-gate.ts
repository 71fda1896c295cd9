import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import { finished } from 'node:stream/promises';
import { clearRepresentation, HttpError, responseTo } from './request/index.js';
import { TransactionError } from '@ambit/transaction';
import type { HeldResponse } from './held-response.js';
import { pretendSent, restoreFraming } from './node-internals.js';

/** The part of a response that precedes its body. */
export interface Head {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: readonly (readonly [name: string, value: number | string | string[]])[];
}

interface NamesHeaders {
  /** Missing in the types of Node 20, and on responses of HTTP/2. */
  getRawHeaderNames?(): string[];
}

function readHead(res: ServerResponse): Head {
  const names = (res as ServerResponse & NamesHeaders).getRawHeaderNames?.() ?? res.getHeaderNames();
  const headers = names.map((name) => [name, res.getHeader(name) ?? ''] as const);
  // The status as Node reads it, since Express 4 passes on one that was given as text.
  return { status: Math.trunc(res.statusCode), statusMessage: res.statusMessage, headers };
}

function restoreHead(res: ServerResponse, { status, statusMessage, headers }: Head): void {
  if (!areIn(res, headers)) restoreHeaders(res, headers);
  res.statusCode = status;
  res.statusMessage = statusMessage;
}

/** Most often nobody has touched them, and to look costs less than to set them again. */
function areIn(res: ServerResponse, headers: Head['headers']): boolean {
  return (
    res.getHeaderNames().length === headers.length && headers.every(([name, value]) => res.getHeader(name) === value)
  );
}

function restoreHeaders(res: ServerResponse, headers: Head['headers']): void {
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (const [name, value] of headers) res.setHeader(name, value);
}

/**
 * Makes room for another response: takes back the headers that are true of one only, and the status. The next response is an error
 * unless it has a status of its own. But while the rest of the old response may follow, that rest must count as part of a success.
 */
function clearHead(res: ServerResponse, isRestToCome: boolean): void {
  clearRepresentation(res);
  // Each call replaces the trailers.
  res.addTrailers({});
  restoreFraming(res);
  res.statusCode = isRestToCome ? 200 : 500;
  res.statusMessage = '';
}

/** Refuses, while the transaction can still be rolled back, a head that Node would refuse when the response is sent. */
function checkHead(res: ServerResponse, method: Exclude<Sender, 'writeHead'>, args: unknown[]): void {
  if (isPlain(res)) return;
  try {
    dryRun(res, method, args);
  } catch (error) {
    // The same headers in the response of an error handler would be refused again.
    res.statusMessage = '';
    res.removeHeader('trailer');
    if (res.strictContentLength) res.removeHeader('content-length');
    throw error;
  }
}

/** Whatever else there may be in a head, Node has looked at by now. */
function isPlain(res: ServerResponse): boolean {
  const { statusCode, statusMessage, strictContentLength } = res;
  return statusCode >= 100 && statusCode <= 999 && !statusMessage && !strictContentLength && !res.hasHeader('trailer');
}

/** Sends the same response to nobody; throws what Node refuses. */
function dryRun(res: ServerResponse, method: Sender, args: unknown[]): void {
  const copy = new ServerResponse(res.req);
  copy.strictContentLength = res.strictContentLength;
  restoreHead(copy, readHead(res));
  Reflect.apply(ServerResponse.prototype[method], copy, args);
}

function checkBody(chunk: unknown): void {
  if (typeof chunk === 'string' || chunk instanceof Uint8Array) return;
  throw coded(new TypeError('The body of a response must be a string or bytes'), 'ERR_INVALID_ARG_TYPE');
}

/** The same error as Node's, so that nobody can tell a held response from one in progress. */
function headersSent(): Error {
  return coded(new Error('Cannot set headers after they are sent to the client'), 'ERR_HTTP_HEADERS_SENT');
}

function coded(error: Error, code: string): Error {
  return Object.assign(error, { code });
}

/** After this time, error handlers that were called and have not responded are not waited for any longer. */
export const TIME_TO_RESPOND_MS = 1000;

/** Responds where no error handler does. Of errors, only ours may say what happened: others may expose internal matters. */
export function respondPlainly(res: ServerResponse, error: unknown): void {
  const { status, retryAfter } = responseTo(error);
  // The handler may have said something of the response that it did not send.
  clearHead(res, false);
  res.statusCode = status;
  if (retryAfter !== undefined) res.setHeader('retry-after', String(retryAfter));
  const isOurs = error instanceof TransactionError || error instanceof HttpError;
  res.setHeader('content-type', 'application/json; charset=utf-8');
  res.end(JSON.stringify({ error: isOurs ? error.message : (STATUS_CODES[status] ?? 'Error') }));
}

/**
 * Closes the connection of a response that has begun and is not complete within a second. Such a response can carry no error, so
 * its client learns of the failure from the closed connection.
 *
 * @param res - the response
 */
export function closeUnlessEnded(res: ServerResponse): void {
  const closing = setTimeout(() => {
    if (!res.writableEnded) res.destroy();
  }, TIME_TO_RESPOND_MS);
  res.once('close', () => clearTimeout(closing));
}

/**
 * Express's own error handler sees that nothing was sent, then waits until the request is read, then responds. A second
 * response of the handler in between would crash the process, so the waiting is done before it, behind the gate; an
 * upload is read to its end, too, unless its client leaves.
 */
export async function readRest(req: IncomingMessage): Promise<void> {
  if (!req.readable) return;
  req.resume();
  await finished(req).catch(() => undefined);
}

type Method = (...args: unknown[]) => unknown;
/** Methods that not every response has: `send` of Express, and `flush` of middlewares that compress. */
type Added = 'flush' | 'send';
type Sender = 'end' | 'flushHeaders' | 'write' | 'writeHead';
type Sending = Sender | Added;
type Methods = Record<Sender | 'on', Method> & Partial<Record<Added, Method>>;

const GATE = Symbol('ambit.gate');

/** The methods by which a response is sent, and its listeners added. */
function methodsOf(res: object): Methods {
  const { end, flush, flushHeaders, on, send, write, writeHead } = res as Methods;
  return { end, flushHeaders, on, write, writeHead, ...(flush && { flush }), ...(send && { send }) };
}

/** All responses share these functions: with functions of its own, each response would have a shape of its own to V8. */
const DIVERTED: Methods & ThisType<{ readonly [GATE]: ResponseGate }> = {
  end(...args) {
    return this[GATE].receive(0, 'end', args);
  },
  flushHeaders(...args) {
    return this[GATE].receive(0, 'flushHeaders', args);
  },
  on(...args) {
    return this[GATE].on(args);
  },
  write(...args) {
    return this[GATE].receive(0, 'write', args);
  },
  writeHead(...args) {
    return this[GATE].receive(0, 'writeHead', args);
  },
};

const WITH_FLUSH: Pick<Methods, 'flush'> & ThisType<{ readonly [GATE]: ResponseGate }> = {
  flush(...args) {
    return this[GATE].receive(0, 'flush', args);
  },
};

const WITH_SEND: Pick<Methods, 'send'> & ThisType<{ readonly [GATE]: ResponseGate }> = {
  send(...args) {
    return this[GATE].receive(0, 'send', args);
  },
};

/** The gate receives from now on what would send the response. */
function divert(res: ServerResponse, gate: ResponseGate, { flush, send }: Methods): void {
  Object.assign(res, { [GATE]: gate }, DIVERTED, flush && WITH_FLUSH, send && WITH_SEND);
}

/** Diverts the next response, below all that was wrapped around the methods of the one before. */
function divertAgain(res: ServerResponse, gate: ResponseGate, { flush, send }: Methods, turn: number): void {
  const receiver =
    (method: Sending): Method =>
    (...args) =>
      gate.receive(turn, method, args);
  Object.assign(res, {
    end: receiver('end'),
    flushHeaders: receiver('flushHeaders'),
    on: DIVERTED.on,
    write: receiver('write'),
    writeHead: receiver('writeHead'),
    ...(flush && { flush: receiver('flush') }),
    ...(send && { send: receiver('send') }),
  });
}

/**
 * How far a response has come:
 * - `none`: nothing has come.
 * - `head`: `writeHead()` was called. The head counts as sent; nothing is decided, and another response may take its place.
 * - `part`, `whole`: what has come, up to its end, waits for the decision.
 * - `leaving`, `left`: it may leave, and what comes is passed on; after its end, what comes belongs to a second response.
 */
type Phase = 'none' | 'head' | 'part' | 'whole' | 'leaving' | 'left';

/**
 * Holds a response back until it is decided whether it may leave. Whatever would send the first byte starts the
 * decision; it and all that follows wait, and then happen, in order and with the head as it was at that moment.
 *
 * A response that must not leave makes way for the next one. What other middlewares wrapped around the gate has
 * seen the first response, and may have reached its end (`compression()`), or may still send what it kept back (`express-session`).
 * So the next response gets methods of its own, below all of these, and what still comes through the old ones is ignored.
 *
 * Our methods stay on the response, since others may have wrapped them; once the gate is open they only pass on. They
 * are properties of the response and not of a prototype, which Express replaces on the way into a mounted application.
 */
export class ResponseGate {
  readonly #res: ServerResponse;
  readonly #keeper: HeldResponse;
  /** The methods behind the gate: Node's, or those that a middleware put around them before. */
  #direct: Methods;
  #phase: Phase = 'none';
  /** The number of responses that have made way for another. */
  #turn = 0;
  #waiting: (() => unknown)[] = [];
  /** The head as it was when `writeHead()` was called. */
  #head: Head | undefined = undefined;
  /** The last response made way before its end, and its handler may still write the rest of it. */
  #mayRestCome = false;
  /** Listeners for `drain` that a middleware keeps for a stream of its own, which knows nothing of this gate. */
  #kept: (() => unknown)[] | undefined = undefined;

  constructor(res: ServerResponse, keeper: HeldResponse) {
    this.#res = res;
    this.#keeper = keeper;
    this.#direct = methodsOf(res);
    divert(res, this, this.#direct);
  }

  /** Makes way for the response of an error handler, unless the handler's own came first; says whether it did. */
  forget(): boolean {
    if (this.#phase === 'head') this.#makeWay(true);
    return this.#phase === 'none';
  }

  get #isOpen(): boolean {
    return this.#phase === 'leaving' || this.#phase === 'left';
  }

  get #isWhole(): boolean {
    return this.#phase === 'whole' || this.#phase === 'left';
  }

  /** Called with what would send a part of the response; `turn` says which response it is meant for. */
  receive(turn: number, method: Sending, args: unknown[]): unknown {
    // This belongs to a response that has made way for another.
    if (turn !== this.#turn) return this.#ignore(method);
    if (method === 'end') return this.#end(args);
    if (method === 'write') return this.#write(args);
    if (method === 'writeHead') return this.#writeHead(args);
    if (method === 'flush') return this.#flush(args);
    if (method === 'flushHeaders') return this.#isWhole ? undefined : this.#start('flushHeaders', []);
    // `json()` comes here, too: it would change the head, and so throw, if the first response has left already.
    return this.#isWhole ? this.#drop(method) : this.#direct.send?.apply(this.#res, args);
  }

  #end(args: unknown[]): unknown {
    if (this.#isWhole) return this.#drop('end');
    if (this.#phase !== 'leaving' && typeof args[0] !== 'function') checkBody(args[0] ?? '');
    return this.#start('end', args);
  }

  #write(args: unknown[]): unknown {
    if (this.#isOpen) return this.#pass('write', args);
    if (this.#phase === 'whole') return this.#drop('write');
    checkBody(args[0]);
    if (this.#isRest()) {
      this.#keeper.onDiscarded(false);
      return this.#ignore('write');
    }
    const turn = this.#turn;
    this.#start('write', args);
    // The writer of what is discarded need not wait for `drain`.
    return turn !== this.#turn;
  }

  /** In its place among what waits: what is behind the gate has none of that yet. */
  #flush(args: unknown[]): void {
    if (this.#phase === 'part') this.#waiting.push(() => this.#call('flush', args));
    else this.#call('flush', args);
  }

  /** Sends nothing by itself, so it decides nothing. */
  #writeHead(args: unknown[]): unknown {
    if (this.#isOpen) return this.#pass('writeHead', args);
    const res = this.#res;
    if (this.#phase === 'whole') return this.#drop('writeHead');
    if (this.#phase === 'head' && !res.headersSent && isImplicit(res, args)) return res;
    if (this.#phase !== 'none') throw headersSent();
    if (!this.#keeper.admits(Math.trunc(args[0] as number))) return this.#discard(true);
    dryRun(res, 'writeHead', args);
    res.statusCode = args[0] as number;
    this.#head = readHead(res);
    // Fastify's headers, whose second response would change them.
    const kept = args.map((arg) => (typeof arg === 'object' && arg !== null && !Array.isArray(arg) ? { ...arg } : arg));
    this.#waiting.push(() => this.#call('writeHead', kept));
    this.#phase = 'head';
    pretendSent(res, true);
    return res;
  }

  /** A middleware around this gate may keep the listeners for `drain` for a stream that is there from the first byte on. */
  on(args: unknown[]): unknown {
    if (args[0] !== 'drain' || this.#isOpen) return this.#call('on', args);
    const before = this.#res.listenerCount('drain');
    const result = this.#call('on', args);
    if (this.#res.listenerCount('drain') === before) (this.#kept ??= []).push(args[1] as () => unknown);
    return result;
  }

  #start(method: Exclude<Sender, 'writeHead'>, args: unknown[]): unknown {
    const res = this.#res;
    const isEnd = method === 'end';
    if (this.#phase === 'leaving') {
      const result = this.#call(method, args);
      // The phase changes after the call, since Node's own `end()` calls other methods of the response.
      if (isEnd) this.#phase = 'left';
      return result;
    }
    const isFirst = this.#phase !== 'part';
    if (isFirst && !this.#keeper.admits(Math.trunc(res.statusCode))) return this.#discard(!isEnd);
    if (this.#phase === 'none') checkHead(res, method, args);
    this.#waiting.push(() => this.#call(method, args));
    this.#phase = isEnd ? 'whole' : 'part';
    if (isFirst) {
      const head = this.#head ?? readHead(res);
      this.#keeper.decide(head.status).then(
        () => this.#release(head),
        (error: unknown) => {
          pretendSent(res, false);
          this.#refuse(error, this.#phase === 'part');
        },
      );
    }
    // The handler and its error handler see a response as sent while a part of its body waits.
    pretendSent(res, !isEnd);
    return res;
  }

  #release(head: Head): void {
    const res = this.#res;
    const isWhole = this.#phase === 'whole';
    pretendSent(res, false);
    this.#phase = 'leaving';
    try {
      restoreHead(res, head);
      const results = this.#waiting.map((step) => step());
      if (isWhole) this.#phase = 'left';
      else if (!results.includes(false)) this.#goOn();
    } catch (error) {
      // A middleware's methods from before the gate have seen this response, too: Node's own write the next one.
      this.#direct = methodsOf(Object.getPrototypeOf(res) as object);
      this.#refuse(error, !isWhole);
    }
  }

  /** The writer of the body waits for this. */
  #goOn(): void {
    const reached = this.#res.rawListeners('drain');
    this.#res.emit('drain');
    for (const listener of this.#kept ?? []) if (!reached.includes(listener)) listener.call(this.#res);
  }

  #refuse(error: unknown, isRestToCome: boolean): void {
    if (!this.#res.headersSent) this.#makeWay(isRestToCome);
    this.#keeper.onRefused(error);
  }

  /** Nothing of this response leaves. */
  #discard(isRestToCome: boolean): ServerResponse {
    this.#makeWay(isRestToCome);
    this.#keeper.onDiscarded(!isRestToCome);
    return this.#res;
  }

  /** The next response finds no trace of this one. */
  #makeWay(isRestToCome: boolean): void {
    const res = this.#res;
    if (this.#phase === 'head') pretendSent(res, false);
    this.#phase = 'none';
    this.#waiting = [];
    this.#head = this.#kept = undefined;
    this.#mayRestCome ||= isRestToCome;
    clearHead(res, isRestToCome);
    divertAgain(res, this, this.#direct, (this.#turn += 1));
  }

  /** Without a content type only a running error handler is known not to be the rest of the dropped body. */
  #isRest(): boolean {
    const isUnnamed = this.#phase === 'none' && !this.#res.hasHeader('content-type');
    return this.#mayRestCome && isUnnamed && !this.#keeper.isHandlingError;
  }

  /** Sends nothing, and says that the writer may go on. */
  #ignore(method: Sending): unknown {
    if (method === 'end') this.#mayRestCome = false;
    return method === 'write' || this.#res;
  }

  #drop(method: Sending): unknown {
    if (!this.#mayRestCome) this.#keeper.onSecondResponse();
    return this.#ignore(method);
  }

  /** After `end()`, Node would crash the process, or throw where nobody catches. What is behind the gate may end later than that. */
  #pass(method: 'write' | 'writeHead', args: unknown[]): unknown {
    if (this.#res.writableEnded) return this.#drop(method);
    const isOfRest = this.#phase === 'left' && this.#mayRestCome;
    if (isOfRest && (method === 'write' || !isImplicit(this.#res, args))) return this.#ignore(method);
    return this.#call(method, args);
  }

  #call(name: Sender | 'flush' | 'on', args: unknown[]): unknown {
    return this.#direct[name]?.apply(this.#res, args);
  }
}

/** Node, and middlewares that compress, write the head so before the first byte. */
function isImplicit(res: ServerResponse, args: unknown[]): boolean {
  return args.length === 1 && args[0] === res.statusCode;
}
