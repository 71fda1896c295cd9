/**
 * Whether the inspector lists every request with trouble under load: `node bench/inspector/trouble.mjs [--seconds 100] [--rate 500]`.
 * Of fifty requests one fails, is rolled back, is aborted by its client, or is slow. A page is open all the time; what a new page lists at
 * the end is compared with what was sent. Exits with 1 if one is missing.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { progress } from '../shared/progress.mjs';
import { table } from '../shared/table.mjs';

const ONE_IN = 50;
const KINDS = ['failed', 'rolled-back', 'aborted', 'slow'];
/** Timers are not exact, so each tick sends what is due. */
const TICK_MS = 10;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '100' }, rate: { type: 'string', default: '500' } },
});
const [seconds, rate] = [Number(values.seconds), Number(values.rate)];

const rows = [];
let isComplete = true;
for (const host of ['Express', 'Fastify']) {
  const server = fork(new URL('trouble-server.mjs', import.meta.url), [host]);
  const [{ port }] = await once(server, 'message');
  const page = openPage(port);
  await page.first;
  const sent = await load(port);
  // The slow ones, and the tick that lists them.
  await pause(3000);
  const listed = await listOf(port);
  page.close();
  server.kill();
  for (const kind of KINDS) {
    const found = listed.filter(({ route, trouble }) => trouble && route === `/${kind}/:id`).length;
    rows.push([host, kind, ...[sent.all, sent[kind], found].map(String)]);
    isComplete &&= found === sent[kind];
  }
}
progress('');
console.log(table(['', 'trouble', 'requests sent', 'with that trouble', 'listed'], rows));
process.exitCode = isComplete ? 0 : 1;

/** Sends at the rate, whether or not responses come. */
async function load(port) {
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  const sent = { all: 0, ...Object.fromEntries(KINDS.map((kind) => [kind, 0])) };
  const total = seconds * rate;
  const start = performance.now();
  const pending = [];
  while (sent.all < total) {
    const due = Math.min(total, Math.floor(((performance.now() - start) / 1000) * rate));
    while (sent.all < due) {
      const number = sent.all++;
      const kind = number % ONE_IN === 0 ? KINDS[(number / ONE_IN) % KINDS.length] : 'well';
      if (kind !== 'well') sent[kind]++;
      pending.push(send(port, agent, kind, number));
    }
    if (sent.all % rate < ONE_IN) progress(`${sent.all} of ${total}`);
    await pause(TICK_MS);
  }
  await Promise.all(pending);
  agent.destroy();
  return sent;
}

function send(port, agent, kind, number) {
  return new Promise((resolve) => {
    const request = get({ port, agent, path: `/${kind}/${number}` }, (response) => {
      response.on('error', resolve);
      response.on('close', resolve);
      // The head of the response says that the request has arrived.
      if (kind === 'aborted') request.destroy();
      else response.resume();
    });
    request.on('error', resolve);
  });
}

/** Reads messages as the page does. */
function openPage(port) {
  let request;
  const first = new Promise((resolve, reject) => {
    request = get({ port, path: '/inspector/events', agent: false }, (response) => {
      response.setEncoding('utf8');
      response.on('data', resolve);
    });
    request.on('error', reject);
  });
  return { first, close: () => request.destroy() };
}

/** What a page that opens now shows: the first message has the complete list. */
async function listOf(port) {
  const response = await fetch(`http://127.0.0.1:${port}/inspector/events`);
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes('\n\n')) break;
  }
  return JSON.parse(/^data: (.*)$/m.exec(text)[1]).requests;
}
