/**
 * The service on one host over several databases, all in this process, so that they share what V8 has compiled: `services.mjs
 * <host> <environment of each database as JSON>`. Beside each it listens for `POST /event`, which publishes an event and responds when
 * the relay has delivered it. Each message asks what the process has used.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createOutbox } from '../../packages/outbox/dist/index.js';
import { readConfig, startService } from '../../service/dist/index.js';

await import('../../lab/chaos/synchronous-normal.mjs');

const [host, environments] = process.argv.slice(2);
const YEAR_MS = 31_536_000_000;
const HOUR_MS = 3_600_000;
const PAGE_BYTES = 4096;

const ports = [];
for (const environment of JSON.parse(environments)) {
  const config = readConfig({ ...process.env, ...environment, HOST_VARIANT: host, PORT: '0' });
  const start = performance.now();
  const { url, container } = await startService(config);
  const startMs = performance.now() - start;
  const events = await eventsOf(container.resolve('IDatabasePool'), config.database.kind);
  ports.push({ http: Number(new URL(url).port), events, startMs });
}

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const io = Object.fromEntries(
    readFileSync('/proc/self/io', 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(': ')),
  );
  process.send({
    node: user + system,
    pages: Number(io.rchar) / PAGE_BYTES,
    log: Number(io.wchar),
  });
});
process.on('disconnect', () => process.exit());
process.send(ports);

/** Delivered events stay in the table, and nothing is read there but for a request. */
async function eventsOf(pool, dialect) {
  const outbox = createOutbox(pool, { dialect });
  const waiting = new Map();
  const relay = outbox.relay(({ payload }) => waiting.get(payload)?.(), {
    gatherMs: 0,
    pollMs: HOUR_MS,
    claimMs: HOUR_MS,
    keepDeliveredMs: YEAR_MS * 10,
  });
  relay.start();
  const publishOne = async () => {
    const id = randomUUID();
    const delivered = new Promise((resolve) => waiting.set(id, resolve));
    await outbox.publish(pool, { topic: 'order.created', key: id, payload: id });
    relay.wake();
    await delivered;
    waiting.delete(id);
  };
  const server = createServer((request, response) => {
    const respond = (status, text) =>
      response.writeHead(status, { 'content-length': Buffer.byteLength(text) }).end(text);
    request.resume();
    publishOne().then(
      () => respond(200, ''),
      (/** @type {unknown} */ error) => respond(500, String(error)),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server.address().port;
}
