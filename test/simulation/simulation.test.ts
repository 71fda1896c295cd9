import { onClock, type Play, replayedSeed, runsOr, Simulation } from '@ambit/test-kit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { SimulatedHost } from './host.js';
import { Run } from './run.js';
import { express4Hosts, expressHost } from './express.js';
import { fastifyHost } from './fastify.js';
import { fetchHost } from './fetch.js';
import { honoHost } from './hono.js';
import { nodeHost } from './node.js';

/** The runs of one host, all on one server. */
async function simulationOn(host: SimulatedHost): Promise<Simulation> {
  const served = await host.serve();
  /** Starting a server takes as long as many runs, so only these have one of their own, which closes in the middle. */
  const closes = (seed: number): boolean => host.closes !== false && seed % 50 === 0;
  const hasTimers = (seed: number): boolean => closes(seed) || host.hasTimers === true;
  const play: Play = async (seed, trace, parts) => {
    const run = new Run({
      seed,
      host,
      served: closes(seed) ? await host.serve() : served,
      closes: closes(seed),
      trace,
      parts,
    });
    return hasTimers(seed) ? onClock(run.clock, () => run.play()) : run.play();
  };
  return new Simulation(play, hasTimers);
}

const RUNS = runsOr(4000);

beforeAll(() => {
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
});

/** Each host with its share of the runs. */
const hosts = [
  { host: expressHost, share: 1 / 4 },
  ...express4Hosts.map((host) => ({ host, share: 1 / 8 })),
  { host: fastifyHost('error'), share: 1 / 8 },
  { host: fastifyHost('response'), share: 1 / 8 },
  { host: nodeHost, share: 1 / 8 },
  { host: honoHost, share: 1 / 16 },
  { host: fetchHost, share: 1 / 16 },
].map(({ host, share }) => ({ host, name: host.name, runs: Math.ceil(RUNS * share) }));

describe.each(hosts)('on $name', ({ host, name, runs }) => {
  test(`${runs} random runs keep every guarantee`, { timeout: 600_000 }, async () => {
    const simulation = await simulationOn(host);
    expect(await simulation.report(runs, ` on ${name}`)).toBe('');
  });

  test.skipIf(replayedSeed)('a seed is one and the same run, whatever is played beside it', async () => {
    const simulation = await simulationOn(host);
    const beside = await simulation.tell(200);
    for (const { seed, trace } of beside) expect((await simulation.replay(seed)).trace).toEqual(trace);
    expect(beside.flatMap(({ trace }) => trace).length).toBeGreaterThan(1000);
  });
});
