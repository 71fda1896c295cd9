import { once } from 'node:events';
import { get, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { IContainer } from '@ambit/container';
import { drainScopes } from '@ambit/container/work';
import { drain } from '@ambit/http';
import type { Config } from '../config/config.js';
import type { HostOptions } from '../hosts/host.js';
import { newId } from '../ids.js';
import type { ILogger } from '../logging/logger.js';
import { ExplainedError } from '../problem.js';
import { logRequest } from './request.js';
import { jsonResponse, PROTECTED, refusal } from './response.js';

/** New clients may arrive without end, and the service has to stop. */
const MAX_MS = 3000;

/**
 * Accepts the clients in the backlog of the listening socket: closing the server would reset their connections, and lose
 * what they had sent. Node accepts a few connections in each turn of its event loop. So this sends a request of its own: when
 * the response arrives, all clients that came earlier have been accepted and their requests read.
 */
export async function acceptWaitingClients(url: string): Promise<void> {
  // `new URL()` refuses link-local addresses such as `[fe80::1%eth0]`.
  const [, host, port] = /^http:\/\/\[?([^\]]*?)\]?:(\d+)$/.exec(url) ?? [];
  try {
    const request = get({ host, port, path: '/health/live', agent: false, signal: AbortSignal.timeout(MAX_MS) });
    await once(request, 'response');
    request.destroy();
  } catch {
    // Clients that are not accepted by then are reset.
  }
}

type Explanation = readonly [exitCode: 1 | 78, message: string];

/** Explains an error of `listen()`. Unknown errors are returned as they are. */
export function listenError(error: unknown, { host, port }: Pick<Config, 'host' | 'port'>): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  const notLocal: Explanation = [
    78,
    `HOST=${host} is not an address of this machine (${code}). Let HOST be 127.0.0.1, 0.0.0.0 or another of its addresses.`,
  ];
  const explanations: Readonly<Record<string, Explanation>> = {
    EADDRINUSE: [1, `PORT=${port} is in use on ${host} (${code}). Stop the program that uses it, or change PORT.`],
    EACCES: [78, `The service may not listen on PORT=${port} (${code}). Choose a PORT from 1024 up.`],
    EADDRNOTAVAIL: notLocal,
    EAFNOSUPPORT: notLocal,
    EINVAL: notLocal,
    ENOTFOUND: [78, `HOST=${host} has no address (${code}). Let HOST be an IP address, or a name that has one.`],
    EAI_AGAIN: [
      1,
      `HOST=${host} cannot be looked up now (${code}). Check the name service, or let HOST be an IP address.`,
    ],
  };
  const [exitCode, message] = explanations[code] ?? [];
  return exitCode === undefined || message === undefined
    ? error
    : new ExplainedError(message, exitCode, { cause: error });
}

/** Completes what is in progress, with HTTP and without; after the timeout, connections are closed and the work is aborted. */
export async function closeServer(
  server: Server,
  container: IContainer,
  { timeoutMs, keepIdleMs = 0, logger }: Pick<HostOptions, 'keepIdleMs' | 'logger'> & { readonly timeoutMs: number },
): Promise<void> {
  const onError = (err: unknown): void => logger.warn({ msg: 'Connections were closed by force', err });
  await Promise.all([drain(server, { timeoutMs, keepIdleMs, onError }), drainScopes(container, { timeoutMs })]);
}

/** For `createServer()`, where alone Node reads these: it would look for late requests every 30 s only, which would add to the limits. */
export const SERVER_OPTIONS = { requireHostHeader: false, connectionsCheckingInterval: 1000 } as const;

/** How long a client that still sends may read its response before the connection is closed. */
const LINGER_MS = 1000;
const TOO_LATE = 'ERR_HTTP_REQUEST_TIMEOUT';
const STATUS_OF: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, [TOO_LATE]: 408 };

/** Thousands of silent clients cost little; many more would be a flood. */
const MOST_CONNECTIONS = 10_000;
/** The rest is for the database, files and requests to others. */
const SHARE_OF_FILES = 3 / 4;
const REPORT_EVERY_MS = 60_000;

/** How many connections this process has descriptors for. Reading that limit takes some 50 ms. */
export function affordableConnections(): number {
  // It would look up the names of all peers. Missing in the types of Node 20.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const files = Number(userLimits?.open_files?.soft);
  return files > 0 ? Math.min(MOST_CONNECTIONS, Math.floor(files * SHARE_OF_FILES)) : MOST_CONNECTIONS;
}

/** Further connections are closed at once: without descriptors the database could not be reached any more, and nothing would be logged. */
function limitConnections(server: Server, maxConnections: number, logger: Pick<ILogger, 'warn'>): void {
  server.maxConnections = maxConnections;
  let refused = 0;
  let reporting: NodeJS.Timeout | undefined;
  const msg = 'connections refused: as many are open as MAX_CONNECTIONS allows';
  const fix =
    'Look who has them open; raise MAX_CONNECTIONS, and the limit of open files (ulimit -n), where they are needed';
  const report = (): void => {
    reporting = undefined;
    if (refused === 0) return;
    logger.warn({ msg, refused, maxConnections, fix });
    refused = 0;
    reporting = setTimeout(report, REPORT_EVERY_MS).unref();
  };
  server.on('drop', () => {
    refused += 1;
    if (!reporting) report();
  });
}

/** The same limits on both hosts, and the same messages where Node would respond without a body. */
export function limitServer(
  server: Server,
  { logger, maxConnections }: Pick<HostOptions, 'logger' | 'maxConnections'>,
): void {
  if (maxConnections !== undefined) limitConnections(server, maxConnections, logger);
  server.headersTimeout = 30_000;
  server.requestTimeout = 60_000;
  // Longer than the 60 s of load balancers, which must close first.
  server.keepAliveTimeout = 72_000;
  // A connection without traffic during a request: longer than the database may take.
  server.timeout = 120_000;
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) => {
    const requestId = newId();
    logRequest(logger, { requestId }, req, res);
    const { status, body: error } = refusal(417);
    const { headers, body } = jsonResponse(status, error);
    res.writeHead(status, { 'x-request-id': requestId, ...PROTECTED, ...headers }).end(body);
  });
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
