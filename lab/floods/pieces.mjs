/**
 * Bodies and heads that come in pieces of one byte: `[--only 'service express'] [--heaps 64,128,256,512] [--clients 1,4,16]`.
 *
 * `express` reads them as Conduit and a new project do. Each server stays alive, responds to each client as to any other (2xx, 4xx or 503), and its memory stays below its heap and what a process of Node
 * has beside it. It needs `npm run build`.
 */
import { connect } from 'node:net';
import { parseArgs } from 'node:util';
import { Target } from './target.mjs';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    heaps: { type: 'string', default: '64,128,256,512' },
    clients: { type: 'string', default: '1,4,16' },
  },
});
const MB = 1_048_576;
/** Memory that a server of Node has beside the limit of its old space. */
const BESIDE_HEAP_MB = 190;
/** Only a server that hangs takes so long. */
const HANG_MS = 300_000;
const STALL_MS = 3000;
const SERVED = /^(?:2\d\d|400|401|404|408|413|415|422|431|503|closed)$/;

/** @typedef {{ path: string, live: string, bytes: number, each?: number }} Server */
/** The path by which each server takes a body, and how long it may be. @type {Record<string, Server>} */
const SERVERS = {
  'service fastify': { path: '/api/users', live: '/health/live', bytes: MB },
  'service express': { path: '/api/users', live: '/health/live', bytes: MB },
  express: { path: '/echo', live: '/live', bytes: 100_000 },
  // Its own parser keeps each piece at this cost; nothing public prevents that.
  fastify: { path: '/echo', live: '/live', bytes: 100_000, each: 110 },
  hono: { path: '/echo', live: '/live', bytes: 100_000 },
};

/** @type {Record<string, (server: { path: string, bytes: number }) => string[]>} what each client writes, in this order */
const ATTACKS = {
  'a body': ({ path, bytes }) => [head(path), chunks('"'), '1\r\nx\r\n'.repeat(bytes - 2), chunks('"'), '0\r\n\r\n'],
  'a body that never ends': ({ path, bytes }) => [head(path), chunks('"'), '1\r\nx\r\n'.repeat(bytes - 2)],
  'a body that is too long': ({ path, bytes }) => [head(path), '1\r\nx\r\n'.repeat(2 * bytes), '0\r\n\r\n'],
  'a head': () => Array.from(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(2000)}\r\n\r\n`),
};

const head = (/** @type {string} */ path) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
const chunks = (/** @type {string} */ text) => Array.from(text, (byte) => `1\r\n${byte}\r\n`).join('');

let failed = 0;
const heaps = options.heaps.split(',').map(Number);
const counts = options.clients.split(',').map(Number);
for (const [name, server] of Object.entries(SERVERS)) {
  if (options.only && name !== options.only) continue;
  for (const heap of heaps) {
    for (const [attack, bytesOf] of Object.entries(ATTACKS)) {
      for (const count of counts)
        if (count * server.bytes * (server.each ?? 0) < (heap * MB) / 4)
          await trial(name, server, { heap, attack, count, writes: bytesOf(server) });
    }
  }
}
console.log(failed === 0 ? 'every server is alive' : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/**
 * @param {string} name
 * @param {{ live: string }} server
 * @param {{ heap: number, attack: string, count: number, writes: string[] }} trial
 */
async function trial(name, { live }, { heap, attack, count, writes }) {
  const target = await Target.start(name, heap);
  const statuses = await Promise.all(
    Array.from({ length: count }, () => send(target.port, writes, attack.includes('never') ? STALL_MS : HANG_MS)),
  );
  const alive = await send(target.port, [`GET ${live} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`], HANG_MS);
  const { peakMb } = target;
  const isGood = alive === '200' && statuses.every((status) => SERVED.test(status)) && peakMb < heap + BESIDE_HEAP_MB;
  if (!isGood) failed += 1;
  const received = [...new Set(statuses)].join(', ');
  console.log(
    `${isGood ? 'ok  ' : 'FAIL'} ${name}, ${heap} MB, ${count} x ${attack}: ${received}; then ${alive}; ${peakMb} MB`,
  );
  await target.stop();
}

/** @param {number} port @param {string[]} writes @param {number} ms @returns {Promise<string>} the status of its first response */
function send(port, writes, ms) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const timer = setTimeout(() => end(ms === STALL_MS ? 'closed' : 'nothing'), ms);
    /** @param {string} status */
    const end = (status) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(status);
    };
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (text) => end(/HTTP\/1\.1 (\d+)/.exec(String(text))?.[1] ?? 'garbage'));
    socket.on('error', (error) => end(error.message));
    socket.on('close', () => end('closed'));
    for (const text of writes) socket.write(text);
  });
}
