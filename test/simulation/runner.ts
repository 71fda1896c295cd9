import { onClock, type Play, Simulation } from '@ambit/test-kit';
import type { SimulatedHost } from './host.js';
import { Run } from './run.js';

/** The runs of one host, all on one server. */
export async function simulationOn(host: SimulatedHost): Promise<Simulation> {
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
