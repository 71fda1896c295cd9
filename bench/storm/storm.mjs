import { Chance, RawClient, requestText } from '@ambit/test-kit';

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
    const chance = new Chance(seed * 1000 + i);
    for (let n = 0; Date.now() < until; n++) await visit(port, chance, seen, `${i}-${n}`);
  });
  await Promise.all(crowd);
  return seen;
}

/** One connection: a request or some at once, and an end. */
async function visit(port, chance, seen, name) {
  const cuts = chance.of(CUTS);
  const aborts = chance.of(cuts ? 1 : (ABORTS - CUTS) / (1 - CUTS));
  const many = chance.of(PIPELINES) ? 2 + chance.below(4) : 1;
  const requests = Array.from({ length: many }, (_, i) => request(chance, `${name}-${i}`));
  if (cuts) requests.push(request(chance, `${name}-cut`, 'POST').slice(0, -5));

  seen.visits++;
  seen.requests += requests.length;
  seen.aborted += Number(aborts);
  seen.pipelined += Number(many > 1);
  seen.cut += Number(cuts);

  const client = await RawClient.connect(port).catch(() => undefined);
  if (!client) return;
  const leave = () => (chance.of(0.5) ? client.leave() : client.reset());
  const leaving = setTimeout(leave, aborts ? chance.next() * 12 : CLIENT_TIMEOUT_MS);
  client.write(requests.join(''));
  const awaited = aborts ? Infinity : requests.length;
  for (let received = 0; received < awaited; received++) {
    // What is malformed was not received.
    const response = await client.nextResponse().catch(() => undefined);
    if (!response) break;
    seen.completed++;
    if (response.status === 201) seen.acknowledged.push(JSON.parse(response.text).stored);
  }
  clearTimeout(leaving);
  client.leave();
}

function request(chance, id, method = chance.of(0.5) ? 'GET' : 'POST') {
  if (method === 'GET') return requestText({ path: '/products' });
  return requestText({ method, path: '/orders', body: { id, fails: chance.of(FAILS) } });
}
