import { openLoad, percentile } from '../shared/load.mjs';
import { startChild } from '../shared/process.mjs';
import { works } from './works.mjs';

/**
 * The service over several databases, in one process.
 *
 * @typedef {object} Size
 * @property {string} name of the database
 * @property {number} orders
 * @property {string} label
 *
 * @param {import('./engines/engines.mjs').Engine} engine
 * @param {string} host
 * @param {Size[]} sizes
 */
export async function startTargets(engine, host, sizes) {
  const environments = sizes.map(({ name }) => engine.environmentOf(name));
  const child = await startChild(new URL('services.mjs', import.meta.url), [host, JSON.stringify(environments)], {
    LOG_LEVEL: 'info',
  });
  const targets = sizes.map((size, i) => new Target(engine, child, size, child.first[i]));
  return { targets, stop: child.stop };
}

/** The service over one of the databases. */
class Target {
  #engine;
  #child;
  #size;
  #ports;

  constructor(engine, child, size, ports) {
    this.#engine = engine;
    this.#child = child;
    this.#size = size;
    this.#ports = ports;
  }

  get label() {
    return this.#size.label;
  }

  get orders() {
    return this.#size.orders;
  }

  /** How long the service took until it listened. */
  get startMs() {
    return this.#ports.startMs;
  }

  get port() {
    return this.#ports.http;
  }

  /** What the process of the services has used until now. */
  used() {
    return this.#child.ask('used');
  }

  /** Sends what a work needs once, and gives what sends its requests. */
  async begin(name) {
    const { at, status, requests } = works[name];
    const { first = [], next } = requests(this.orders);
    const port = at ? this.#ports[at] : this.port;
    if (first.length > 0) {
      const left = [...first];
      const client = await openLoad(port, { connections: 1, requestOf: () => left.pop() });
      await client.send(left.length);
      client.close();
    }
    return (connections) => openLoad(port, { connections, requestOf: next, status });
  }

  /**
   * Requests for so long: how long they took, and what each has used.
   *
   * @param {Awaited<ReturnType<Target['begin']>>} open
   * @param {{ connections?: number, ms?: number, requests?: number }} turn one of `ms` and `requests`
   */
  async turn(open, { connections = 1, ms, requests }) {
    const load = await open(connections);
    await load.send(connections * WAKING_REQUESTS);
    const counted = await this.#engine.used(this.#size.name);
    const databaseCpu = this.#engine.startCpu();
    const before = await this.used();
    const start = performance.now();
    const latencies = await (ms === undefined ? load.send(requests) : load.sendFor(ms));
    const rate = latencies.length / ((performance.now() - start) / 1000);
    const after = await this.used();
    const database = databaseCpu && databaseCpu() / latencies.length;
    const countedAfter = await this.#engine.used(this.#size.name);
    load.close();
    const count = latencies.length;
    const sorted = latencies.toSorted((a, b) => a - b);
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => percentile(sorted, part));
    const each = (now, then) => Object.fromEntries(Object.keys(then).map((it) => [it, (now[it] - then[it]) / count]));
    const used = { ...each(after, before), ...each(countedAfter, counted) };
    return { count, rate, p50, p95, p99, database, ...used };
  }
}

/** What comes before a turn and does not count. */
const WAKING_REQUESTS = 20;
