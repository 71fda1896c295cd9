import type { Container } from '@ambit/container';
import { instancesOf } from '@ambit/container/tools';
import { label } from './names.js';
import { type Sign, signOf } from './signs.js';
import type { Definition } from './troubles.js';
import type { Store } from './store.js';
import { collectionsOf } from './v8.js';

const EVERY_MS = 2000;

/** Measures the process every two seconds. The returned function stops that. */
export function measure(store: Store): () => void {
  let cpu = process.cpuUsage();
  let [rows, at] = [0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    const { user, system } = process.cpuUsage(cpu);
    const { rss, heapUsed: heap } = process.memoryUsage();
    const part = (user + system) / 1000 / (now - at);
    store.measured({ rss, heap, cpu: part, delay: store.lateness.longest, rows: store.rows - rows });
    cpu = process.cpuUsage();
    [rows, at] = [store.rows, now];
    store.lateness.longest = 0;
  }, EVERY_MS).unref();
  return () => clearInterval(timer);
}

const SAMPLE_MS = 1000;
const SAMPLES = 4;
const MOST_SAMPLES = 30;
const LEAST_GROWTH = 50;
const LEAST_REQUESTS = 20;

/**
 * Looks, while somebody looks at a page, at the sizes of what the singletons of an application hold. The returned function finds the
 * collections that grow with the requests, each again when it has grown by half.
 */
export function growthOf(container: Container): (arrived: number, definition: Definition) => Sign[] {
  const samples = new Map<string, { readonly size: number; readonly arrived: number }[]>();
  let next = 0;
  return (arrived, definition) => {
    if (performance.now() < next || container.disposed) return [];
    next = performance.now() + SAMPLE_MS;
    const singletons = instancesOf(container).filter(({ instance }) => typeof instance === 'object');
    const found = collectionsOf(singletons.map(({ instance }) => instance as object));
    return found.flatMap((collections, i) =>
      collections.flatMap(({ name, type, size }): Sign[] => {
        const key = label(singletons[i]?.key ?? '');
        const about = `${key}.${name}`;
        const before = samples.get(about) ?? [];
        const shrank = size < (before.at(-1)?.size ?? 0);
        const kept = shrank ? [] : before.slice(-MOST_SAMPLES);
        samples.set(about, [...kept, { size, arrived }]);
        const first = kept.at(0);
        const [grown, came] = [size - (first?.size ?? 0), arrived - (first?.arrived ?? 0)];
        const isGrowing = kept.length + 1 >= SAMPLES && grown >= LEAST_GROWTH && grown >= came / 2;
        if (!isGrowing || came < LEAST_REQUESTS) return [];
        samples.set(about, []);
        const field = name === '' ? '' : ` ${name} of`;
        const cause = `The ${type}${field} ${key}, a singleton, grew from ${size - grown} to ${size} entries while ${came} requests came`;
        return [signOf({ kind: 'growing', cause, about, where: definition(key) })];
      }),
    );
  };
}
