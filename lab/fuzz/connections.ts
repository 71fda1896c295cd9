import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect } from 'node:net';
import { type RawResponse, readResponse } from '@ambit/test-kit';
import { App, type HostVariant } from '../../service/test/support/app.js';
import { mustHold } from './texts.js';

/** What a host does with the bytes of one connection, one after another. */
export interface Conversation {
  readonly requests: readonly { readonly method: string; readonly path: string }[];
  readonly responses: readonly RawResponse[];
}

const TABLES = ['users', 'order_items', 'orders', 'reservations', 'idempotency_keys', 'outbox'];
const PROBE = 'GET /health/live HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n';
/**
 * After so long, and so many turns of the event loop, without a byte the client has nothing more to send, and says so: both ends and
 * SQLite are in this process.
 */
const SILENT_MS = 3;
const SILENT_TURNS = 50;
const MOST_MS = 5000;
/** One for each response. */
const LINES: ReadonlySet<unknown> = new Set(['request', 'request aborted', 'request refused']);
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/** The service on one host, whose requests are noted in the order in which Node reads them. */
export class Stage {
  readonly app: App;
  readonly #port: number;
  #requests: { method: string; path: string }[] = [];

  private constructor(app: App) {
    this.app = app;
    this.#port = Number(new URL(app.url).port);
    subscribe('http.server.request.start', (message) => {
      const { method = '', url = '', socket } = (message as { request: IncomingMessage }).request;
      if (socket.localPort === this.#port) this.#requests.push({ method, path: url });
    });
  }

  static async open(variant: HostVariant, env: Readonly<Record<string, string>>): Promise<Stage> {
    return new Stage(await App.start(variant, env));
  }

  /** As before the first request. */
  async clear(): Promise<void> {
    const { records } = this.app.log;
    if (records.some(({ status }) => status === 201))
      for (const table of TABLES) await this.app.pool.query(`DELETE FROM ${table}`);
    this.app.log.clear();
  }

  /** Sends the bytes, and a request behind them that ends the connection. Each response must be well-formed, and in its place. */
  async converse(bytes: Buffer): Promise<Conversation> {
    this.#requests = [];
    const received = await exchange(this.#port, Buffer.concat([bytes, Buffer.from(PROBE)]));
    await this.app.quiet();
    const requests = this.#requests;
    const responses = this.#read(received, requests);
    for (const [index, response] of responses.entries()) this.#check(response, requests[index]);
    const closing = responses.findIndex(({ headers }) => headers['connection'] === 'close');
    mustHold(closing === -1 || closing === responses.length - 1, 'a response follows the last one');
    return { requests, responses };
  }

  #read(received: Buffer, requests: Conversation['requests']): RawResponse[] {
    const responses: RawResponse[] = [];
    for (let from = 0; from < received.length;) {
      // What is refused before it is parsed has no method: its response has a body, and ends the connection.
      const isRefusal = !/\r\ndate: /i.test(received.toString('latin1', from, received.indexOf('\r\n\r\n', from)));
      const toHead = requests[responses.length]?.method === 'HEAD' && !isRefusal;
      const read = readResponse(received.subarray(from), { toHead, noMoreWillCome: true });
      mustHold(read !== undefined, 'a response is cut', () => ({ rest: received.toString('latin1', from) }));
      from += read.length;
      if (read.response.status >= 200) responses.push(read.response);
    }
    return responses;
  }

  #check({ status, headers, text }: RawResponse, request: Conversation['requests'][number] | undefined): void {
    const show = () => ({ request, status, headers, text });
    mustHold(status < 500, 'a response says that the service is at fault', () => ({ ...show(), log: this.#errors() }));
    const id = headers['x-request-id'] ?? '';
    mustHold(id.match(UUID)?.[0] === id, 'a response has no request id', show);
    if (status >= 400 && text !== '') {
      const body = JSON.parse(text) as Record<string, unknown>;
      mustHold(
        Object.keys(body).join() === 'error' && typeof body['error'] === 'string',
        'an error has another body',
        show,
      );
    }
    const line = this.app.log.records.find(({ requestId, msg }) => requestId === id && LINES.has(msg));
    mustHold(line?.['status'] === status, 'the log has another status than the client', () => ({ ...show(), line }));
    if (!request || line['msg'] === 'request refused') return;
    mustHold(line['method'] === request.method, 'a response is not in its place', () => ({ ...show(), line }));
  }

  #errors(): object[] {
    return this.app.log.records.filter(({ level }) => level === 50 || level === 'error');
  }
}

/** All that comes back; the client says that it has sent everything, once nothing more comes. */
async function exchange(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const chunks: Buffer[] = [];
  const started = performance.now();
  let heardAt = started;
  let turns = 0;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    heardAt = performance.now();
    turns = 0;
  });
  // The host may close while the client still sends.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(bytes);
  while (!socket.closed && performance.now() - started < MOST_MS) {
    await nextTurn();
    turns += 1;
    const isSilent = turns >= SILENT_TURNS && performance.now() - heardAt >= SILENT_MS;
    if (isSilent && !socket.writableEnded) socket.end();
  }
  socket.destroy();
  mustHold(performance.now() - started < MOST_MS, 'a connection stays open that its client has ended');
  return Buffer.concat(chunks);
}

/** A response without what differs each time, and without whether the connection is kept: that depends on what has arrived by then. */
function comparable({ status, headers, text }: RawResponse): object {
  const { date: _date, 'x-request-id': _id, connection: _connection, 'keep-alive': _keepAlive, ...others } = headers;
  return { status, headers: others, text: text.replaceAll(UUID, 'a UUID').replaceAll(TIME, 'a time') };
}

export function mustBeAlike(express: Conversation, fastify: Conversation): void {
  const show = () => ({ express: express.responses.map(comparable), fastify: fastify.responses.map(comparable) });
  const [shorter, longer] = [express.responses, fastify.responses].toSorted((a, b) => a.length - b.length);
  for (const [index, response] of (shorter ?? []).entries())
    mustHold(textOf(response) === textOf(longer?.[index]), 'the hosts respond differently', show);
  // Where garbage follows, a host may close behind a response, and refuse nothing more.
  const more = longer?.slice(shorter?.length) ?? [];
  const isClosed = shorter?.at(-1)?.headers['connection'] === 'close' && more.every(({ status }) => status >= 400);
  mustHold(more.length === 0 || isClosed, 'one host responds more often than the other', show);
}

const textOf = (response: RawResponse | undefined): string => (response ? JSON.stringify(comparable(response)) : '');
