import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { express4Host, expressHost } from './support/simulation/express.js';
import { fastifyHost } from './support/simulation/fastify.js';
import { fetchHost } from './support/simulation/fetch.js';
import { honoHost } from './support/simulation/hono.js';
import { nodeHost } from './support/simulation/node.js';
import { type Played, Runner } from './support/simulation/runner.js';

/** `SEED=123` plays that one run again on every host; `SEEDS=100000` plays more of them, from `FIRST_SEED` on. */
const { SEED, SEEDS = '10000' } = process.env;

const { stackTraceLimit } = Error;
beforeAll(() => {
  // Most of these runs hold errors, and their stacks would take a good part of the time.
  Error.stackTraceLimit = SEED === undefined ? 0 : 30;
  // Hosts print what they respond to where the application has no error handler.
  vi.spyOn(console, 'error').mockReturnValue();
  // How long pipelined requests take of the event loop goes by real time, which is another one in each run.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  // A timer of a host, such as Fastify's look for requests that Node has forgotten, would come in the middle of a run on a busy machine.
  const never = { unref: () => never };
  for (const name of ['setTimeout', 'setInterval']) vi.stubGlobal(name, () => never);
});
afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  Error.stackTraceLimit = stackTraceLimit;
});

/** Each host with its share of the runs. */
const hosts = [
  { host: expressHost, share: 1 / 4 },
  { host: express4Host, share: 1 / 8 },
  { host: fastifyHost('error'), share: 1 / 8 },
  { host: fastifyHost('response'), share: 1 / 8 },
  { host: nodeHost, share: 1 / 8 },
  { host: honoHost, share: 1 / 16 },
  { host: fetchHost, share: 1 / 16 },
].map(({ host, share }) => ({ host, name: host.name, runs: Math.ceil(Number(SEEDS) * share) }));

describe.each(hosts)('on $name', ({ host, name, runs }) => {
  /** Empty when all is well. */
  const report = ({ seed, broken, trace }: Played): string =>
    broken.length === 0 ? '' : [`SEED=${seed} replays it on ${name}:`, ...broken, '', ...trace].join('\n');

  test.runIf(SEED)(`the run of SEED=${SEED} keeps every guarantee`, async () => {
    const runner = await Runner.of(host);
    expect(report(await runner.replay(Number(SEED)))).toBe('');
  });

  test.skipIf(SEED)(`${runs} random runs keep every guarantee`, { timeout: 600_000 }, async () => {
    const runner = await Runner.of(host);
    const played = await runner.firstToBreak(runs);
    expect(played ? report(played) : '').toBe('');
  });

  test.skipIf(SEED)('a seed is one and the same run, whatever is played beside it', async () => {
    const runner = await Runner.of(host);
    const beside = await runner.tell(200);
    for (const { seed, trace } of beside) expect((await runner.replay(seed)).trace).toEqual(trace);
    expect(beside.flatMap(({ trace }) => trace).length).toBeGreaterThan(1000);
  });
});
