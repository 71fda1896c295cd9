/**
 * What a hostile client sends, in a worker of its own so that the clients beside it are not slowed down by it:
 * the worker posts `attacking` when all is sent or waits to be, and at the end what the attack received.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const MB = 1_048_576;
/** How many connections are opened at a time: the server's system keeps no more than 511 that are not accepted. */
const AT_ONCE = 200;

/** @typedef {import('node:net').Socket} Socket */

const head = (/** @type {number} */ length, path = '/api/users') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

const order = JSON.stringify({ items: [{ productId: 'apple', quantity: 1 }] });
const orders = (/** @type {number} */ count) => (head(order.length, '/api/orders') + order).repeat(count);

/**
 * How many connections an attack opens, and what it writes to each of them.
 * @type {Record<string, { count: number, bytes: (index: number) => string | Buffer, reads?: false, every?: [ms: number, bytes: string] }>}
 */
export const ATTACKS = {
  'stalled uploads': { count: 800, bytes: () => head(MB) + 'x'.repeat(MB - 1) },
  'deep bodies': { count: 100, bytes: () => head(MB) + '['.repeat(MB) },
  'pipelined orders': { count: 10, bytes: () => orders(4000) },
  'pipelined lists, not read': {
    count: 1000,
    bytes: () => 'GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(16),
    reads: false,
  },
  'long lists, not read': {
    count: 500,
    bytes: () => 'GET /api/users?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40),
    reads: false,
  },
  'pipelined bodies': { count: 20, bytes: () => (head(MB / 2) + `"${'x'.repeat(MB / 2 - 2)}"`).repeat(16) },
  'idle connections': { count: 10_000, bytes: () => '' },
  'unfinished heads': {
    count: 2000,
    bytes: () => `GET /api/users HTTP/1.1\r\nX: ${'x'.repeat(15_000)}`,
    every: [1000, 'x'],
  },
  'empty lines': { count: 200, bytes: () => '\r\n', every: [1000, '\r\n'] },
};

/** @typedef {{ opened: number, refused: number, closed: number, statuses: Record<string, number> }} Received */

if (parentPort && workerData?.attack) {
  const port = parentPort;
  const received = { opened: 0, refused: 0, closed: 0, statuses: /** @type {Record<string, number>} */ ({}) };
  const { url, attack } = workerData;
  const sockets = await open(new URL(url), attack, received);
  port.postMessage('attacking');
  await once(port, 'message');
  for (const socket of sockets) socket.destroy();
  port.postMessage(received);
  port.close();
}

/**
 * @param {URL} url
 * @param {string} attack
 * @param {Received} received
 */
async function open(url, attack, received) {
  const { count = 0, bytes = () => '', reads, every } = ATTACKS[attack] ?? {};
  /** @type {Socket[]} */
  const sockets = [];
  for (let index = 0; index < count; index += 1) {
    const socket = connect(Number(url.port), url.hostname);
    socket.once('connect', () => {
      received.opened += 1;
      socket.write(bytes(index));
    });
    let isOpen = false;
    socket.once('connect', () => (isOpen = true));
    socket.on('error', () => undefined);
    socket.once('close', () => (isOpen ? (received.closed += 1) : (received.refused += 1)));
    if (reads === false) socket.pause();
    else socket.setEncoding('latin1').on('data', (text) => countStatuses(String(text), received.statuses));
    sockets.push(socket);
    if (index % AT_ONCE === AT_ONCE - 1) await pause(20);
  }
  if (every) {
    const [ms, more] = every;
    setInterval(() => sockets.forEach((socket) => socket.writable && socket.write(more)), ms).unref();
  }
  return sockets;
}

/** @param {string} text @param {Record<string, number>} statuses */
function countStatuses(text, statuses) {
  for (const [, status = ''] of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) statuses[status] = (statuses[status] ?? 0) + 1;
}
