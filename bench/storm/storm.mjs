import { connect } from 'node:net';
import { Responses } from './responses.mjs';

const ABORTS = 0.6;
const PIPELINES = 0.2;
const CUTS = 0.15;
const FAILS = 0.05;
/** A client that waits for its response disconnects after this time. */
const CLIENT_TIMEOUT_MS = 10_000;

/** Sends badly behaved clients, `sockets` at a time, for so many seconds. */
export async function storm({ port, seconds, sockets, seed }) {
  const seen = { visits: 0, requests: 0, aborted: 0, pipelined: 0, cut: 0, completed: 0, acknowledged: [] };
  const until = Date.now() + seconds * 1000;
  const crowd = Array.from({ length: sockets }, async (_, i) => {
    const random = randomFrom(seed * 1000 + i);
    for (let n = 0; Date.now() < until; n++) await visit(port, random, seen, `${i}-${n}`);
  });
  await Promise.all(crowd);
  return seen;
}

/** One connection: a request or some at once, and an end. */
function visit(port, random, seen, name) {
  const cuts = random() < CUTS;
  const aborts = cuts || random() < (ABORTS - CUTS) / (1 - CUTS);
  const many = random() < PIPELINES ? 2 + Math.floor(random() * 4) : 1;
  const requests = Array.from({ length: many }, (_, i) => request(random, `${name}-${i}`));
  if (cuts) requests.push(request(random, `${name}-cut`, 'POST').slice(0, -5));

  seen.visits++;
  seen.requests += requests.length;
  seen.aborted += Number(aborts);
  seen.pipelined += Number(many > 1);
  seen.cut += Number(cuts);

  return new Promise((resolve) => {
    const responses = new Responses();
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const leave = () => (random() < 0.5 ? socket.destroy() : socket.resetAndDestroy());
    const leaving = setTimeout(leave, aborts ? random() * 12 : CLIENT_TIMEOUT_MS);
    socket.on('connect', () => socket.write(requests.join('')));
    socket.on('data', (chunk) => {
      responses.add(chunk);
      if (!aborts && responses.count === requests.length) socket.end();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(leaving);
      seen.completed += responses.count;
      seen.acknowledged.push(...responses.stored);
      resolve();
    });
  });
}

function request(random, id, method = random() < 0.5 ? 'GET' : 'POST') {
  if (method === 'GET') return 'GET /products HTTP/1.1\r\nHost: storm\r\n\r\n';
  const body = JSON.stringify({ id, fails: random() < FAILS });
  return `POST /orders HTTP/1.1\r\nHost: storm\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** The same numbers for the same seed. */
function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
