/**
 * What the inspector costs while no page is open: CPU time of the server's process per request, with it mounted and
 * without. `node packages/inspector/test/idle-cost.mjs [--host express|fastify] [--processes 4] [--rounds 10] [--requests 4000]`
 * Processes and rounds take turns, because neither of two machines is ever equally fast twice.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { parseArgs } from 'node:util';

/** The second is the first once more: how far these two differ is how much chance there is in the third. */
const WAYS = ['without', 'again', 'mounted'];
const CLIENTS = 20;
const { values } = parseArgs({
  allowPositionals: true,
  options: {
    host: { type: 'string', default: 'express,fastify' },
    processes: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '10' },
    requests: { type: 'string', default: '4000' },
  },
});
const requests = Number(values.requests);

if (process.send) await serve(process.argv[2], process.argv[3] === 'mounted');
else {
  for (const host of values.host.split(',')) await compare(host);
  await alone();
}

/** The middleware by itself, which can be told more exactly than its share in a server. */
async function alone() {
  const { Container } = await import('@ambit/container');
  const { inspector } = await import('@ambit/inspector/express');
  const middleware = inspector({ container: new Container(), enabled: true });
  const request = { method: 'GET', url: '/api/users/1', originalUrl: '/api/users/1' };
  const times = [];
  let passed = 0;
  const next = () => void passed++;
  for (let round = 0; round < 20; round++) {
    const { user } = process.cpuUsage();
    for (let i = 0; i < 1_000_000; i++) middleware(request, undefined, next);
    times.push(process.cpuUsage().user - user);
  }
  process.stdout.write(
    `the middleware by itself: ${(quantile(times, 0.1) / 1000).toFixed(0)} ns, of ${passed} calls\n`,
  );
}

async function compare(host) {
  const times = Object.fromEntries(WAYS.map((way) => [way, []]));
  for (let i = 0; i < Number(values.processes); i++) {
    const servers = Object.fromEntries(await Promise.all(WAYS.map(async (way) => [way, await start(host, way)])));
    for (const way of WAYS) await measure(servers[way], requests * 2);
    for (let round = 0; round < Number(values.rounds); round++) {
      // Each is first, second and last equally often.
      const turn = round % WAYS.length;
      for (const way of [...WAYS.slice(turn), ...WAYS.slice(0, turn)]) {
        times[way].push(await measure(servers[way], requests));
      }
    }
    for (const { child } of Object.values(servers)) child.kill();
  }
  for (const way of WAYS) {
    const ratios = times[way].map((time, round) => (time / times.without[round] - 1) * 100);
    const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(1));
    const typical = quantile(times[way], 0.5).toFixed(1);
    process.stdout.write(
      `${host} ${way}: ${typical} µs of CPU per request; against without ${middle} %, half of ${ratios.length} rounds between ${low} and ${high} %\n`,
    );
  }
}

async function start(host, way) {
  const child = fork(import.meta.filename, [host, way], { execArgv: ['--expose-gc'] });
  const [port] = await once(child, 'message');
  return { child, port, agent: new Agent({ keepAlive: true, maxSockets: CLIENTS }) };
}

/** Microseconds of CPU time per request. */
async function measure({ child, port, agent }, count) {
  const cpu = async () => {
    child.send('cpu');
    const [{ user, system }] = await once(child, 'message');
    return user + system;
  };
  const before = await cpu();
  let left = count;
  const client = async () => {
    while (left-- > 0) await ask(port, agent);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return ((await cpu()) - before) / count;
}

function ask(port, agent) {
  return new Promise((resolve, reject) => {
    const request = get({ port, agent, path: '/users' }, (response) => response.resume().on('end', resolve));
    request.on('error', reject);
  });
}

async function serve(host, mounted) {
  const { Container, hasTag, Registration, scope, singleton } = await import('@ambit/container');
  const container = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => ({ name: 'Ada' }))
      .pipe(singleton(), scope(hasTag('request')))
      .to('IUser'),
  );
  const listen = host === 'express' ? serveExpress : serveFastify;
  const port = await listen(container, mounted ? { container, scopes: { tags: ['request'] } } : undefined);
  process.on('disconnect', () => process.exit());
  process.on('message', () => {
    globalThis.gc();
    process.send(process.cpuUsage());
  });
  process.send(port);
}

async function serveExpress(container, options) {
  const { default: express } = await import('express');
  const { containerMiddleware } = await import('@ambit/express');
  const { inspector } = await import('@ambit/inspector/express');
  const app = express();
  if (options) app.use(inspector(options));
  app.use(containerMiddleware(container));
  app.get('/users', (req, res) => void res.json(req.container.resolve('IUser')));
  const server = app.listen(0);
  await once(server, 'listening');
  return server.address().port;
}

async function serveFastify(container, options) {
  const { fastify } = await import('fastify');
  const { containerPlugin } = await import('@ambit/fastify');
  const { inspector } = await import('@ambit/inspector/fastify');
  const app = fastify();
  if (options) await app.register(inspector, options);
  await app.register(containerPlugin, { container });
  app.get('/users', async (request) => request.container.resolve('IUser'));
  await app.listen({ port: 0 });
  return app.server.address().port;
}

function quantile(numbers, part) {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(part * (sorted.length - 1))];
}
