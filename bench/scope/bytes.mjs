import { visitOf } from './contestant.mjs';
import { graphs } from './graph.mjs';
import { works } from './works.mjs';

const SCOPES = 10_000;
const WORK = 'main, 20 registrations';

/** Returns a function that gives the bytes one open scope holds, with three objects resolved in it. */
export async function bytesPerScope(contestant) {
  const { graph, size } = works[WORK];
  const running = contestant.setup(graphs[graph](size), WORK);
  const { open, close } = running;
  const visit = visitOf(running, WORK);
  const kept = Array.from({ length: SCOPES });

  const measure = async () => {
    const before = heap();
    for (let i = 0; i < SCOPES; i++) visit((kept[i] = open()));
    const bytes = (heap() - before) / SCOPES;
    for (const scope of kept) await close(scope);
    kept.fill(undefined);
    return bytes;
  };
  await measure();
  return measure;
}

function heap() {
  for (let i = 0; i < 3; i++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}
