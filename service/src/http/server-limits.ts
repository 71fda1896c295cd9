import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { refusal } from './error-answer.js';

/** Balancers keep connections for 60 s; who closes first must not be us. */
const KEEP_ALIVE_MS = 72_000;
const HEADERS_MS = 30_000;
const REQUEST_MS = 60_000;

const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The same patience, and the same words where Node would answer without any, whichever host uses the server. */
export function limitServer(server: Server): void {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.on('checkExpectation', answerExpectation);
}

function answerExpectation(_req: IncomingMessage, res: ServerResponse): void {
  const { status, body } = refusal(417);
  const text = JSON.stringify(body);
  res.writeHead(status, {
    'x-request-id': randomUUID(),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  res.end(text);
}

/** A listener for `clientError`: what is no HTTP at all gets the same words from both hosts. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body } = refusal(STATUS_OF[error.code ?? ''] ?? 400);
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-request-id: ${randomUUID()}\r\n` +
      'Content-Type: application/json; charset=utf-8\r\n' +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}
