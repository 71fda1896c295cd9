import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ILogger } from '../logging/logger.js';
import { refusal } from './error-answer.js';
import { logRequest } from './request-log.js';

/** Balancers keep connections for 60 s; who closes first must not be us. */
const KEEP_ALIVE_MS = 72_000;
const HEADERS_MS = 30_000;
const REQUEST_MS = 60_000;
/** For a connection on which nothing moves during a request: longer than the database may take, and not for ever. */
const STANDSTILL_MS = 120_000;
/** For a client to read its answer before the connection is closed over what it still sends. */
const LINGER_MS = 1000;

/** How often Node looks for requests that take too long. By default every 30 s, so they would get up to 30 s more. */
const CHECK_EVERY_MS = 1000;

/** For `createServer()`: Node reads these only there. */
export const SERVER_OPTIONS = { requireHostHeader: false, connectionsCheckingInterval: CHECK_EVERY_MS } as const;

const TOO_LATE = 'ERR_HTTP_REQUEST_TIMEOUT';
const STATUS_OF: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, [TOO_LATE]: 408 };

/** The same patience, and the same words where Node would answer without any, whichever host uses the server. */
export function limitServer(server: Server, logger: ILogger): void {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.timeout = STANDSTILL_MS;
  server.on('checkExpectation', answerExpectation(logger));
}

function answerExpectation(logger: ILogger) {
  return (req: IncomingMessage, res: ServerResponse): void => {
    const requestId = randomUUID();
    logRequest(logger, { requestId }, req, res);
    const { status, body } = refusal(417);
    const text = JSON.stringify(body);
    res.writeHead(status, {
      'x-request-id': requestId,
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    });
    res.end(text);
  };
}

/** Node's own, the answer that comes next on the connection: to know it in a public way would cost every request. */
interface ServedSocket extends Duplex {
  readonly _httpMessage?: ServerResponse | null;
}

/** A listener for `clientError`: what is no HTTP at all gets the same words from both hosts. */
export function answerClientError(logger: ILogger) {
  return ({ code = '' }: NodeJS.ErrnoException, socket: ServedSocket): void => {
    // A client takes the first answer for that to its first request: no refusal may overtake what is being carried out.
    if (code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.req.complete) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const { status, body } = refusal(STATUS_OF[code] ?? 400);
    logger.info({ msg: 'request refused', requestId, status });
    const text = JSON.stringify(body);
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-request-id: ${requestId}\r\n` +
        'Content-Type: application/json; charset=utf-8\r\n' +
        `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
    // What comes even later must not be carried out after all.
    if (code === TOO_LATE) socket.destroy();
    else cutSoon(socket);
  };
}

/** Nobody else would: Node looks at the time of a connection that had an error no more. */
function cutSoon(socket: Duplex): void {
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(cut));
}
