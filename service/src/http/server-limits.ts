import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { newId } from '../ids.js';
import type { ILogger } from '../logging/logger.js';
import { refusal } from './error-response.js';
import { logRequest } from './request-head.js';
import { jsonResponse } from './response.js';

/** Longer than the 60 s of load balancers, which must close first. */
const KEEP_ALIVE_MS = 72_000;
const HEADERS_MS = 30_000;
const REQUEST_MS = 60_000;
/** How long a connection may be without traffic during a request: longer than the database may take. */
const NO_TRAFFIC_MS = 120_000;
/** How long a client that still sends may read its response before the connection is closed. */
const LINGER_MS = 1000;

/** How often Node looks for requests that take too long. Its default of 30 s would add up to 30 s to the limits. */
const CHECK_EVERY_MS = 1000;

/** For `createServer()`: Node reads these only there. */
export const SERVER_OPTIONS = { requireHostHeader: false, connectionsCheckingInterval: CHECK_EVERY_MS } as const;

const TOO_LATE = 'ERR_HTTP_REQUEST_TIMEOUT';
const STATUS_OF: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, [TOO_LATE]: 408 };

/** The same limits on both hosts, and the same messages where Node would respond without a body. */
export function limitServer(server: Server, logger: ILogger): void {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.timeout = NO_TRAFFIC_MS;
  server.on('checkExpectation', refuseExpectation(logger));
}

function refuseExpectation(logger: ILogger) {
  return (req: IncomingMessage, res: ServerResponse): void => {
    const requestId = newId();
    logRequest(logger, { requestId }, req, res);
    const refused = refusal(417);
    const { status, headers, body } = jsonResponse(refused.status, refused.body);
    res.writeHead(status, { 'x-request-id': requestId, ...headers });
    res.end(body);
  };
}

/**
 * A listener for `clientError`: bytes that are not HTTP get the same response from both hosts. It is not called while a response is
 * in progress, or a complete request: @ambit/http finishes those, or cuts the connection.
 */
export function respondToClientError(logger: ILogger) {
  return ({ code = '' }: NodeJS.ErrnoException, socket: Duplex): void => {
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const requestId = newId();
    const { status, body } = refusal(STATUS_OF[code] ?? 400);
    logger.info({ msg: 'request refused', requestId, status });
    const text = JSON.stringify(body);
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-request-id: ${requestId}\r\n` +
        'Content-Type: application/json; charset=utf-8\r\n' +
        `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
    // The rest of a late request must not be carried out.
    if (code === TOO_LATE) socket.destroy();
    else destroySoon(socket);
  };
}

/** Node checks no time limit on a connection that had an error. */
function destroySoon(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}
