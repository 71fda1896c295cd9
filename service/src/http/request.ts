import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { IContainer } from '@ambit/container';
import { HttpError } from '@ambit/http';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Format, IsEmail } from 'typebox/format';
import type { IRequestContext } from '../ids.js';
import type { HostOptions } from '../hosts/host.js';
import type { ILogger } from '../logging/logger.js';
import { Problem } from '../problem.js';
import { continueSession } from '../replicas/replicas.js';

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const ORIGIN = /^https?:\/\/[^/?]+/i;
const ESCAPE = /%[2-7][\da-f]/gi;
const UNRESERVED = /[\w.~-]/;
const HOST = 'host';
/** Health checks and scrapes are logged at level `debug`. */
const QUIET = /^\/(?:health\/|metrics$)/;

/** The ids that all log lines of one request share: its own, its trace's, and the caller's once that is known. */
type LoggedContext = Pick<IRequestContext, 'requestId' | 'userId' | 'trace'>;

/** Both hosts begin every request with this, whatever its address: it gets an id, and is logged when it is finished. */
export function beginRequest(
  { logger, telemetry, replicas }: HostOptions,
  container: IContainer,
  req: IncomingMessage,
  res: ServerResponse,
): IRequestContext {
  const context = container.resolve('IRequestContext');
  const trace = telemetry?.traceIdsOf(container);
  if (trace) context.trace = trace;
  logRequest(logger, context, req, res);
  if (replicas) continueSession(replicas, container, req, res);
  return context;
}

/**
 * One line for each request, when its response is sent or its client has disconnected. Requests that are queued behind
 * another one when their connection is lost have no line: Node emits no event for their responses.
 */
export function logRequest(logger: ILogger, context: LoggedContext, req: IncomingMessage, res: ServerResponse): void {
  const start = performance.now();
  const { method } = req;
  // A query can hold personal data.
  const path = pathOf(req.url ?? '');
  res.on('close', () => {
    const ms = Math.round((performance.now() - start) * 100) / 100;
    const msg = res.writableFinished ? 'request' : 'request aborted';
    const { requestId, userId, trace } = context;
    // Before the head is sent, the status is Node's default, or one that a failed COMMIT would still change.
    const status = res.headersSent ? res.statusCode : undefined;
    const inspector = res.getHeader('x-debug-token-link');
    const record = { msg, requestId, userId, ...trace, method, path, status, ms, inspector };
    if (QUIET.test(path)) logger.debug(record);
    else logger.info(record);
  });
}

/**
 * Refuses a request without `Host`, to which Node would respond without a body, and one with two: a proxy in front of the service may
 * have decided by the other one.
 */
export function requireOneHost({ rawHeaders, httpVersion }: IncomingMessage): void {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === HOST.length && name.toLowerCase() === HOST) hosts += 1;
  }
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) throw new Problem(400, 'The request is malformed');
}

export async function identifyCaller(
  identify: NonNullable<HostOptions['identify']>,
  req: IncomingMessage,
  context: IRequestContext,
): Promise<void> {
  const userId = await identify(req);
  if (userId !== undefined) context.setUserId(userId);
}

/** Whether the body is read; with any other method it is ignored. */
export const mayHaveBody = ({ method = '' }: IncomingMessage): boolean => METHODS_WITH_BODY.has(method);

/**
 * Reduces the target of each request to a path with its query, before the framework sees it: the frameworks differ in how
 * they read the other forms that a request line allows.
 */
export function simplifyTargets(server: Server): void {
  const simplify = (req: IncomingMessage): void => {
    req.url = simpleTarget(req.url ?? '');
  };
  server.prependListener('request', simplify);
  server.prependListener('checkExpectation', simplify);
}

function simpleTarget(target: string): string {
  if (target.startsWith('/') && !target.includes('#')) return target;
  const [sent = ''] = target.split('#', 1);
  const path = sent.replace(ORIGIN, '');
  // `*` and addresses of other protocols become a path that no route has.
  return path.startsWith('/') ? path : `/${path}`;
}

/** Without the query. */
export function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end === -1 ? target : target.slice(0, end);
}

/** Decodes the characters that need no percent encoding: `/%75sers` becomes `/users`. */
export function normalizedPath(path: string): string {
  return path.replaceAll(ESCAPE, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return UNRESERVED.test(character) ? character : escape;
  });
}

/** Larger than any order that the schema allows, in its usual notation. */
const MAX_BYTES = 1_048_576;
/** A client that sends this much after the refusal will not read the response. */
const MAX_IGNORED_BYTES = 16 * MAX_BYTES;
/** The body of an order has 3 levels. */
const MAX_DEPTH = 32;
/** An order of 1,000 items has 3,002 values. */
const MAX_VALUES = 10_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const JSON_TYPE = /^application\/json\s*(?:;\s*(?:charset=(?:utf-8|"utf-8")\s*)?)?$/i;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** How much of the heap's limit incomplete bodies may take. They are outside of the heap, and in the memory of the same machine. */
const INCOMPLETE_SHARE = 1 / 4;

/** The smallest block that pieces of a body are copied into. */
const FIRST_BLOCK = 1024;

/** A body that is arriving, in one block: kept as it comes, a piece of one byte costs 200. */
class IncompleteBody {
  readonly refuse: (error: Error) => void;
  #block = Buffer.alloc(0);
  #length = 0;

  constructor(refuse: (error: Error) => void) {
    this.refuse = refuse;
  }

  /** The bytes that it occupies, of which a part may be empty. */
  get occupied(): number {
    return this.#block.length;
  }

  get bytes(): Buffer {
    return this.#block.subarray(0, this.#length);
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, Math.min(2 * this.#block.length, MAX_BYTES), FIRST_BLOCK));
      this.#block.copy(larger, 0, 0, this.#length);
      this.#block = larger;
    }
    piece.copy(this.#block, this.#length);
    this.#length = length;
  }
}

/**
 * Reads the bodies of a host's requests: both hosts accept and refuse the same bytes with the same messages. Beyond a limit for all
 * incomplete bodies together the largest is refused, so that clients which stall their uploads use up neither the memory nor the limit.
 */
export class JsonBodies {
  readonly #incomplete = new Set<IncompleteBody>();
  #bytesLeft = getHeapStatistics().heap_size_limit * INCOMPLETE_SHARE;

  async read(req: IncomingMessage): Promise<unknown> {
    const bytes = await this.#readBytes(req);
    const { 'content-type': type, 'content-encoding': encoding = 'identity' } = req.headers;
    const { 'transfer-encoding': coding = 'chunked' } = req.headers;
    if (type === undefined && bytes.length === 0) return undefined;
    if (!JSON_TYPE.test(type ?? '')) throw new Problem(415, 'The body must be sent as application/json in UTF-8');
    if (bytes.length === 0) return undefined;
    if (encoding.toLowerCase() !== 'identity') throw new Problem(415, 'The body must be sent without Content-Encoding');
    // Node takes `gzip, chunked` for chunks, and leaves what is in them as it is.
    if (coding.toLowerCase() !== 'chunked')
      throw new Problem(415, 'The body must be sent without Transfer-Encoding but chunked');
    limitValues(bytes);
    return parse(decode(bytes));
  }

  /** The whole body; one that is too large is refused as soon as that is known. */
  #readBytes(req: IncomingMessage): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const announced = Number(req.headers['content-length'] ?? 0);
      const headers = announced > MAX_IGNORED_BYTES ? { connection: 'close' } : {};
      let received = 0;
      let whole: Buffer | undefined;
      let body: IncompleteBody | undefined = new IncompleteBody((error) => {
        this.#delete(body);
        body = undefined;
        reject(error);
      });
      const refuseLarge = (): void => body?.refuse(new Problem(413, 'The body is too large', headers));
      const fail = (): void => body?.refuse(new Problem(400, 'The body did not arrive whole'));

      if (req.destroyed) fail();
      if (announced > MAX_BYTES) {
        refuseLarge();
        // The client waits for `100 Continue`, which it would get if its body was read.
        if (req.headers.expect !== undefined) return;
      }
      // A refused body is still read: closing a connection with unread bytes would lose the response.
      req.on('data', (piece: Buffer) => {
        received += piece.length;
        if (received > MAX_BYTES) refuseLarge();
        if (received > MAX_IGNORED_BYTES) req.destroy();
        if (piece.length === announced) whole = piece;
        else if (body) this.#add(body, piece);
      });
      req.on('end', () => {
        resolve(whole ?? body?.bytes ?? Buffer.alloc(0));
        this.#delete(body);
      });
      req.on('error', fail);
    });
  }

  #add(body: IncompleteBody, piece: Buffer): void {
    const before = body.occupied;
    body.add(piece);
    this.#incomplete.add(body);
    this.#bytesLeft -= body.occupied - before;
    while (this.#bytesLeft < 0) {
      const largest = [...this.#incomplete].reduce((most, other) => (other.occupied > most.occupied ? other : most));
      largest.refuse(new HttpError('AMBIT_HTTP_OVERLOADED'));
    }
  }

  #delete(body: IncompleteBody | undefined): void {
    if (body && this.#incomplete.delete(body)) this.#bytesLeft += body.occupied;
  }
}

/**
 * Refuses a body whose value would occupy a multiple of its bytes: 1 MiB of `[[[[` or `{},{},` becomes 20 to 30 MiB, and the
 * host keeps the values of all requests that are in progress. Exact up to the first syntax error, where the parser stops.
 */
function limitValues(bytes: Uint8Array): void {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at] as number) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        values += 1;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        break;
      default:
    }
    if (depth > MAX_DEPTH) throw new Problem(400, `The body must not be nested deeper than ${MAX_DEPTH} levels`);
    if (values > MAX_VALUES) throw new Problem(400, `The body must not have more than ${MAX_VALUES} values`);
  }
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Problem(400, 'The body is not valid UTF-8');
  }
}

function parse(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, and differs between versions of Node.
    throw new Problem(400, 'The body is not valid JSON');
  }
  // The name can also be written with escapes.
  if ((text.includes('__proto__') || text.includes('\\u')) && hasProto(value))
    throw new Problem(400, 'The body must not have a property named __proto__');
  return value;
}

/** An own property of that name becomes the prototype of any object it is copied into. */
function hasProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProto);
}

/** PostgreSQL cannot store NUL, and UTF-8 has no lone surrogates. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;
const isText = (value: string): boolean => !UNSTORABLE.test(value);
Format.Set('text', isText);
/** A line break would begin another header of a message that is sent to the address. */
const NOT_IN_ADDRESS = /[\p{Cc}\p{Surrogate}]/u;
// Between quotes the format itself allows every character.
Format.Set('email', (value) => IsEmail(value) && !NOT_IN_ADDRESS.test(value));

const FORMATS: Readonly<Record<string, string>> = {
  text: 'must be well-formed Unicode text without NUL',
  email: 'must be an email address',
};

const MAX_MESSAGES = 3;

type Validated<T> = { readonly value: T } | { readonly error: Problem };

/** Returns a function that returns the body, typed, or a 400 that names each invalid field, as Fastify expects it. */
export function bodyValidator<T extends TSchema>(schema: T): (body: unknown) => Validated<Static<T>> {
  const validator = Compile(schema);
  return (body) => {
    if (validator.Check(body)) return { value: body };
    // Without a body Fastify validates null.
    if (body === undefined || body === null) return { error: new Problem(400, 'A JSON body is required') };
    const errors = validator.Errors(body).slice(0, MAX_MESSAGES);
    return { error: new Problem(400, errors.map(sentence).join('; ')) };
  };
}

/** Returns a check that throws the 400. */
export function bodyCheck<T extends TSchema>(schema: T): (body: unknown) => Static<T> {
  const validate = bodyValidator(schema);
  return (body) => {
    const result = validate(body);
    if ('error' in result) throw result.error;
    return result.value;
  };
}

type ValidationError = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

function sentence({ instancePath, keyword, params, message }: ValidationError): string {
  const { format } = params as { format?: string };
  const what = keyword === 'format' && format !== undefined ? (FORMATS[format] ?? message) : message;
  return `body${pathIn(instancePath)} ${what}`;
}

/** `/items/3/quantity` becomes `.items[3].quantity`. */
function pathIn(pointer: string): string {
  return pointer.replaceAll(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
}
