import { type Profiler, Session } from 'node:inspector';
import { ms } from './names.js';
import { signOf } from './signs.js';
import type { Store } from './store.js';
import { placeOf, placeOfLine } from './where.js';

const EVERY_MS = 50;
/** Timers are a few milliseconds late at all times. */
const LATE_MS = 25;
const MOST_DELAYS = 64;

/** When timers were late: what came then had to wait for this process, and not for whom it had asked. */
export class Lateness {
  /** The newest, each from when a timer was due. */
  readonly #delays: { readonly from: number; readonly to: number }[] = [];
  #due = Infinity;

  /** A timer runs, which was set to run each 50 ms. Returns by how much it is late. */
  beat(now: number): number {
    const late = this.#lateAt(now);
    if (late > 0) this.#delays.push({ from: this.#due, to: now });
    if (this.#delays.length > MOST_DELAYS) this.#delays.shift();
    this.#due = now + EVERY_MS;
    return late;
  }

  /** The milliseconds between the two times in which timers were late. */
  within(from: number, to: number): number {
    const delays = this.#lateAt(to) > 0 ? [...this.#delays, { from: this.#due, to }] : this.#delays;
    return delays.reduce((sum, delay) => sum + Math.max(0, Math.min(to, delay.to) - Math.max(from, delay.from)), 0);
  }

  #lateAt(now: number): number {
    return now - this.#due > LATE_MS ? now - this.#due : 0;
  }
}

/** Nothing else has run for so long. */
const LONG_MS = 150;
const SAMPLE_MICROSECONDS = 10_000;
/** Then the samples so far, a few megabytes, are thrown away. */
const MOST_MS = 600_000;
/** To read the samples stops the process for tens of milliseconds; this share of the time it may take. */
const MOST_SHARE = 1 / 20;

/**
 * Notices when the application's own code keeps the process from everything else, and which line does: V8 takes a hundred samples of the stack
 * per second. The returned function stops that.
 */
export function blockedLoop(store: Store): () => void {
  const profiler = startProfiler();
  let cpu = process.cpuUsage();
  const beat = (): void => {
    const late = store.lateness.beat(performance.now());
    const { user, system } = process.cpuUsage(cpu);
    const computed = (user + system) / 1000;
    // Where the machine had no time for this process, none of its functions is to blame.
    const isBusy = late >= LONG_MS && computed >= LONG_MS / 3;
    const found = profiler?.take(isBusy ? late : 0);
    if (found) {
      const share = computed < late / 2 ? `; the machine gave it a processor for ${ms(computed)} of that` : '';
      const cause = `Timers were late by ${ms(late)}; most of that time the process was in ${found.name}${share}`;
      store.noticed(signOf({ kind: 'blocked loop', cause, where: found.where }));
    }
    cpu = process.cpuUsage();
  };
  const timer = setInterval(beat, EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    profiler?.stop();
  };
}

interface Busy {
  /** The application's innermost function on the stack, and its line. */
  readonly name: string;
  readonly where: string;
}

interface RunningProfiler {
  /** @param lateMs - by how much a timer is late; 0 where nothing is. Returns what most of this time was spent in. */
  take(lateMs: number): Busy | undefined;
  stop(): void;
}

/** Undefined in runtimes without a profiler: blocked loops are not noticed there, and everything else is. */
function startProfiler(): RunningProfiler | undefined {
  const session = new Session();
  let begun = 0;
  let mayReadAt = 0;
  const start = (): void => {
    session.post('Profiler.start');
    begun = performance.now();
  };
  try {
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
    start();
  } catch {
    return undefined;
  }
  return {
    take(lateMs) {
      const now = performance.now();
      const isWanted = lateMs > 0 && now >= mayReadAt;
      if (!isWanted && now - begun < MOST_MS) return undefined;
      let found: Busy | undefined;
      const before = process.cpuUsage();
      session.post('Profiler.stop', (_, result) => {
        if (isWanted) found = busiest(result.profile, lateMs);
      });
      start();
      const { user, system } = process.cpuUsage(before);
      mayReadAt = begun + (user + system) / 1000 / MOST_SHARE;
      return found;
    },
    stop: () => session.disconnect(),
  };
}

/** Of the time, most samples have to be in one place, and there have to be some: a machine that is busy takes few. */
const LEAST_SAMPLES = 5;
/** What the application's own code did in most of the samples of the last milliseconds. */
function busiest(
  { nodes, samples = [], timeDeltas = [], endTime }: Profiler.Profile,
  lateMs: number,
): Busy | undefined {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<string, { readonly busy: Busy; readonly count: number }>();
  let all = 0;
  for (let i = samples.length - 1, at = endTime; i >= 0 && at >= endTime - lateMs * 1000; i--) {
    all += 1;
    at -= timeDeltas[i] ?? 0;
    const busy = busyIn(samples[i], byId, parents);
    if (busy) places.set(busy.where, { busy, count: (places.get(busy.where)?.count ?? 0) + 1 });
  }
  const [found] = [...places.values()].toSorted((one, other) => other.count - one.count);
  return found && found.count >= Math.max(LEAST_SAMPLES, all / 2) ? found.busy : undefined;
}

/** Of the functions on the stack, the innermost that is the application's own, and its line, where one took most of its samples. */
function busyIn(
  sample: number | undefined,
  byId: ReadonlyMap<number, Profiler.ProfileNode>,
  parents: ReadonlyMap<number, number>,
): Busy | undefined {
  for (let id = sample; id !== undefined; id = parents.get(id)) {
    const { callFrame, positionTicks = [] } = byId.get(id) ?? { callFrame: undefined };
    if (!callFrame || callFrame.url === '') continue;
    const { url, functionName } = callFrame;
    // Of a module itself V8 says -1.
    const [line, column] = [Math.max(0, callFrame.lineNumber) + 1, Math.max(0, callFrame.columnNumber) + 1];
    const all = positionTicks.reduce((sum, { ticks }) => sum + ticks, 0);
    const most = positionTicks.find(({ ticks }) => ticks > all / 2)?.line ?? line;
    // A function on one line, as in a bundle, is found by its column.
    const where = most === line ? placeOf(url, line, column) : placeOfLine(url, most);
    if (where !== undefined)
      return { where, name: functionName === '' ? 'a function without a name' : `${functionName}()` };
  }
  return undefined;
}
