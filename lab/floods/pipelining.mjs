/**
 * Floods of connections that pipeline and come back: `[--connections 10] [--requests 1000] [--seconds 6] [--only express]`.
 *
 * Each application once alone on its framework and once with Ambit. With Ambit a health check has its response within 500 ms, or as soon as by the
 * framework alone on a busy machine, the memory is at most 1.2 times that of the framework alone, and every response is right. It needs `npm run build`.
 */
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Target } from './target.mjs';

const { values: options } = parseArgs({
  options: {
    connections: { type: 'string', default: '10' },
    requests: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '6' },
    only: { type: 'string', default: '' },
  },
});
const CONNECTIONS = Number(options.connections);
const REQUESTS = Number(options.requests);
const SECONDS = Number(options.seconds);
/** On a busy machine: no more than with the framework alone, about. */
const MOST_MS = 500;
const MOST_TIMES = 1.2;
const HEAP_MB = 512;
const WORK = 'GET /work HTTP/1.1\r\nHost: x\r\n\r\n';
const TEXT = 'x'.repeat(2000);
const RESPONSE = /^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\nx{2000}/;

let failed = 0;
for (const name of ['node', 'express', 'fastify', 'hono']) {
  if (options.only && name !== options.only) continue;
  const alone = await flooded(`${name} bare`);
  const ours = await flooded(`${name} ambit`);
  const times = ours.peakMb / alone.peakMb;
  const isGood =
    ours.longest < Math.max(MOST_MS, 2 * alone.longest) && ours.wrong === 0 && times < MOST_TIMES && !ours.exited;
  if (!isGood) failed += 1;
  console.log(
    `${isGood ? 'ok  ' : 'FAIL'} ${name}: ${said(ours)}; alone ${said(alone)}; memory ${times.toFixed(2)} times`,
  );
}
process.exit(failed === 0 ? 0 : 1);

/** @param {Awaited<ReturnType<typeof flooded>>} flood */
function said({ responses, closed, longest, peakMb, wrong }) {
  return `${responses} responses, ${wrong} wrong, ${closed} connections, health after at most ${longest} ms, ${peakMb} MB`;
}

/** @param {string} name */
async function flooded(name) {
  const target = await Target.start(name, HEAP_MB);
  const seen = { responses: 0, wrong: 0, closed: 0, longest: 0 };
  const until = performance.now() + 1000 * SECONDS;
  await Promise.all([...Array.from({ length: CONNECTIONS }, () => comeBack()), probe()]);
  const { peakMb, exited } = target;
  await target.stop();
  return { ...seen, peakMb, exited };

  async function comeBack() {
    while (performance.now() < until && !target.exited) {
      const text = await pipeline(target.port, until);
      const responses = text.split(/(?=HTTP\/1\.1 )/);
      seen.responses += responses.length;
      // The last one may be cut by the end of the flood.
      seen.wrong += responses.slice(0, -1).filter((response) => !RESPONSE.test(response)).length;
      seen.closed += 1;
    }
  }

  async function probe() {
    while (performance.now() < until && !target.exited) {
      const sentAt = performance.now();
      await fetch(`http://127.0.0.1:${target.port}/live`, { headers: { connection: 'close' } }).catch(() => undefined);
      seen.longest = Math.max(seen.longest, Math.round(performance.now() - sentAt));
      await pause(10);
    }
  }
}

/** All that comes back until the server closes the connection, or the flood is over. @param {number} port @param {number} until */
function pipeline(port, until) {
  /** @type {Promise<string>} */
  const received = new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    let responses = 0;
    const timer = setTimeout(() => socket.destroy(), Math.max(0, until - performance.now()));
    socket.setEncoding('latin1');
    socket.on('data', (part) => {
      text += part;
      responses = text.length / TEXT.length;
      // A server that closes no connection gets the next ones when it has responded to most.
      if (responses > REQUESTS) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
    socket.write(WORK.repeat(REQUESTS));
  });
  return received;
}
