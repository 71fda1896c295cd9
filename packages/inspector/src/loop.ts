import { type Profiler, Session } from 'node:inspector';
import { ms } from './names.js';
import { signOf } from './signs.js';
import type { Store } from './store.js';
import { placeOf } from './where.js';

const EVERY_MS = 50;
/** Timers are a few milliseconds late at all times. */
const LATE_MS = 25;
const MOST_DELAYS = 64;

/** When timers were late: what came then had to wait for this process, and not for whom it had asked. */
export class Lateness {
  /** The newest, each from when a timer was due. */
  readonly #delays: { readonly from: number; readonly to: number }[] = [];
  #due = Infinity;
  /** The longest delay of one beat, since somebody set it to 0. */
  longest = 0;

  /** A timer runs, which was set to run each 50 ms. Returns by how much it is late. */
  beat(now: number): number {
    const late = this.#lateAt(now);
    this.longest = Math.max(this.longest, now - this.#due);
    if (late > 0) this.#delays.push({ from: this.#due, to: now });
    if (this.#delays.length > MOST_DELAYS) this.#delays.shift();
    this.#due = now + EVERY_MS;
    return late;
  }

  /** The milliseconds between the two times, the second of which is now, in which timers were late. */
  within(from: number, to: number): number {
    return this.before(from, to) + Math.min(this.#lateAt(to), to - from);
  }

  /** The same without what goes on now: a statement of a driver that is synchronous is that itself. */
  before(from: number, to: number): number {
    if ((this.#delays.at(-1)?.to ?? from) <= from) return 0;
    return this.#delays.reduce((sum, one) => sum + Math.max(0, Math.min(to, one.to) - Math.max(from, one.from)), 0);
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
/** To read the samples stops the process for tens of milliseconds. */
const READ_EVERY_MS = 1500;

/**
 * Notices when the application's own code keeps the process from everything else, and which line does: V8 takes a hundred samples of the stack
 * per second. The returned function stops that. In runtimes without a profiler it notices nothing.
 */
export function blockedLoop(store: Store): () => void {
  const session = new Session();
  let begun: number | undefined;
  const restart = (): void => {
    session.post('Profiler.start');
    begun = performance.now();
  };
  try {
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
    restart();
  } catch {
    // This runtime has no profiler.
  }
  let cpu = process.cpuUsage();
  const beat = (): void => {
    const late = store.lateness.beat(performance.now());
    const before = cpu;
    cpu = process.cpuUsage();
    if (begun === undefined) return;
    const spent = cpu.user + cpu.system - before.user - before.system;
    // No function is to blame for a machine that had no time for this process.
    const isBusy = late >= LONG_MS && spent / 1000 >= LONG_MS / 3;
    const age = performance.now() - begun;
    if (isBusy ? age < READ_EVERY_MS : age < MOST_MS) return;
    session.post('Profiler.stop', (_, { profile }) => {
      const found = isBusy ? busiest(profile, late) : undefined;
      if (!found) return;
      const cause = `${found.name} kept this process from everything else for ${ms(late)}`;
      store.noticed(signOf({ kind: 'blocked loop', cause, about: found.about, where: found.where, lost: late }));
    });
    restart();
  };
  const timer = setInterval(beat, EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    session.disconnect();
  };
}

/** The application's innermost function on a stack, and its line. */
interface Busy {
  readonly name: string;
  /** The same for all its lines. */
  readonly about: string;
  readonly where: string;
}

const NO_NAME = 'A function';

/** A machine that is busy takes few samples. */
const LEAST_SAMPLES = 5;

/** The function of the application that most samples of the last milliseconds show. */
function busiest({ nodes, samples = [], timeDeltas = [], endTime }: Profiler.Profile, lateMs: number) {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<string, { readonly busy: Busy; readonly count: number }>();
  let all = 0;
  for (let i = samples.length - 1, at = endTime; i >= 0 && at >= endTime - lateMs * 1000; i--) {
    all += 1;
    at -= timeDeltas[i] ?? 0;
    let busy: Busy | undefined;
    // A function without a name is part of the one that has called it.
    for (let id = samples[i]; id !== undefined && (!busy || busy.name === NO_NAME); id = parents.get(id)) {
      const found = busyIn(byId.get(id));
      if (found) busy = { ...found, where: busy?.where ?? found.where };
      else if (busy) break;
    }
    if (busy) places.set(busy.where, { busy, count: (places.get(busy.where)?.count ?? 0) + 1 });
  }
  const [found] = [...places.values()].toSorted((one, other) => other.count - one.count);
  return found && found.count >= Math.max(LEAST_SAMPLES, all / 2) ? found.busy : undefined;
}

/** The line that took most samples of a function of the application; undefined of other functions. */
function busyIn(node: Profiler.ProfileNode | undefined): Busy | undefined {
  if (!node || node.callFrame.url === '') return undefined;
  const { callFrame, positionTicks = [] } = node;
  const { url, functionName } = callFrame;
  // V8 says -1 for a module itself.
  const [line, column] = [Math.max(0, callFrame.lineNumber) + 1, Math.max(0, callFrame.columnNumber) + 1];
  const all = positionTicks.reduce((sum, { ticks }) => sum + ticks, 0);
  const most = positionTicks.find(({ ticks }) => ticks > all / 2)?.line ?? line;
  // A function on one line, as in a bundle, is found by its column.
  const where = placeOf(url, most, most === line ? column : undefined);
  const name = functionName === '' ? NO_NAME : `${functionName}()`;
  return where === undefined ? undefined : { where, name, about: `${name} ${placeOf(url, line, column)}` };
}
