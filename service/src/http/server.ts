import { once } from 'node:events';
import { type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { IContainer } from '@ambit/container';
import { drainScopes } from '@ambit/container/work';
import { drain } from '@ambit/http';
import type { Host, HostOptions } from '../hosts/host.js';
import { newId } from '../ids.js';
import type { ILogger } from '../logging/logger.js';
import { ExplainedError } from '../problem.js';
import { jsonResponse, PROTECTED, refusal } from './response.js';

/** A host on the server of a framework; `dispose` disposes the container, by the framework where that has it. */
export function hostOn(
  server: Server,
  container: IContainer,
  { keepIdleMs = 0, ...options }: HostOptions,
  dispose: () => void | Promise<void>,
): Host {
  limitServer(server, options);
  const onError = (err: unknown): void => options.logger.warn({ msg: 'Connections were closed by force', err });
  return {
    listen: async (port, host) => {
      await once(server.listen(port, host), 'listening').catch((cause: unknown) => {
        const what = `The service cannot listen on HOST=${host} and PORT=${port}: ${(cause as Error).message}`;
        throw new ExplainedError(`${what}. Change them, or stop the program that uses the port.`, 1, { cause });
      });
      const { address, family, port: chosen } = server.address() as AddressInfo;
      return `http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}`;
    },
    close: async (timeoutMs) => {
      // Before the framework closes, which may wait for clients without a limit.
      await Promise.all([drain(server, { timeoutMs, keepIdleMs, onError }), drainScopes(container, { timeoutMs })]);
      await dispose();
    },
  };
}

/**
 * For `createServer()`: by default it looks for late requests every 30 s only, which would add to the limits, and responds without a body
 * where `Host` is missing.
 */
export const SERVER_OPTIONS = { connectionsCheckingInterval: 1000, requireHostHeader: false } as const;

/** How long a client that still sends may read its response before the connection is closed. */
const LINGER_MS = 1000;
const TOO_LATE = 'ERR_HTTP_REQUEST_TIMEOUT';
const STATUS_OF: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, [TOO_LATE]: 408 };

const REPORT_EVERY_MS = 60_000;

/** The same limits on both hosts. */
export function limitServer(
  server: Server,
  { logger, maxConnections = Infinity }: Pick<HostOptions, 'logger' | 'maxConnections'>,
): void {
  // Further connections are closed at once: without descriptors the database could not be reached any more.
  server.maxConnections = maxConnections;
  let quietUntil = 0;
  server.on('drop', () => {
    if (Date.now() < quietUntil) return;
    quietUntil = Date.now() + REPORT_EVERY_MS;
    const msg = 'connections refused: as many are open as MAX_CONNECTIONS allows';
    const fix = 'Look who has them open; raise it, and `ulimit -n`, where they are needed';
    logger.warn({ msg, maxConnections, fix });
  });
  server.headersTimeout = 30_000;
  server.requestTimeout = 60_000;
  // Longer than the 60 s of load balancers, which must close first.
  server.keepAliveTimeout = 72_000;
  // A connection without traffic during a request: longer than the database may take.
  server.timeout = 120_000;
  // Node would respond without a body: `checkHead()` refuses the request.
  server.on('checkExpectation', (req, res) => server.emit('request', req, res));
}

/**
 * A listener for `clientError`: bytes that are not HTTP get the same response from both hosts. It is not called while a response is
 * in progress, or a complete request: @ambit/http finishes those, or cuts the connection.
 */
export function respondToClientError(logger: ILogger) {
  return ({ code = '' }: NodeJS.ErrnoException, socket: Duplex): void => {
    if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const requestId = newId();
    const { status, body } = refusal(STATUS_OF[code] ?? 400);
    logger.info({ msg: 'request refused', requestId, status });
    const { headers, body: text } = jsonResponse(status, body);
    const lines = Object.entries({ 'x-request-id': requestId, ...PROTECTED, ...headers, connection: 'close' });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${text}`);
    // The rest of a late request must not be carried out.
    if (code === TOO_LATE) return void socket.destroy();
    // Node checks no time limit on a connection that had an error.
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  };
}
