import { setTimeout as pause } from 'node:timers/promises';
import { impatientClient } from './role.mjs';

const BETWEEN_WRITES_MS = 20;
/** The timeline changes with each promotion. */
const WRITE = `INSERT INTO witness VALUES ($1) RETURNING substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) AS timeline`;

/** @typedef {{ name: string, url: string }} Node */
/** @typedef {{ node: string, timeline: string, from: number, to: number }} Reign from when to when a node took writes on one timeline */

/** Writes to every node all the time, past the service: who takes writes, and are there ever two? */
export class Witness {
  /** @type {Map<string, Reign>} */
  #reigns = new Map();
  #stopped = false;
  #writers;

  /**
   * @param {readonly Node[]} nodes
   * @param {'on' | 'local'} commit `local`: what a node stores, even if no standby confirms it
   */
  constructor(nodes, commit) {
    this.#writers = nodes.map((node) => this.#write(node, commit));
  }

  /** @param {Node} primary */
  static async prepare(primary) {
    const client = impatientClient(primary.url);
    await client.connect();
    await client.query('CREATE TABLE IF NOT EXISTS witness (node text NOT NULL)');
    await client.end();
  }

  /** @returns {Promise<{ ms: number, who: string }>} for how long two nodes took writes at the same time, and which */
  async stop() {
    this.#stopped = true;
    await Promise.all(this.#writers);
    const reigns = [...this.#reigns.values()];
    const pairs = reigns.flatMap((one, index) => reigns.slice(index + 1).map((other) => together(one, other)));
    return pairs.reduce((most, next) => (next.ms > most.ms ? next : most), { ms: 0, who: '' });
  }

  /** @param {Node} node @param {string} commit */
  async #write({ name, url }, commit) {
    while (!this.#stopped) {
      const client = impatientClient(url);
      try {
        await client.connect();
        await client.query(`SET synchronous_commit = ${commit}`);
        while (!this.#stopped) {
          const sent = performance.now();
          const { rows } = await client.query(WRITE, [name]);
          this.#note(name, rows[0].timeline, sent);
          await pause(BETWEEN_WRITES_MS);
        }
      } catch {
        // It is away, or a standby, or no standby confirms what it stores.
        await pause(BETWEEN_WRITES_MS);
      } finally {
        void client.end().catch(() => undefined);
      }
    }
  }

  /** @param {string} node @param {string} timeline @param {number} sent */
  #note(node, timeline, sent) {
    const key = `${node} ${timeline}`;
    const reign = this.#reigns.get(key);
    // A write that was sent after another node had confirmed one proves that there were two.
    if (reign) reign.to = sent;
    else this.#reigns.set(key, { node, timeline, from: performance.now(), to: sent });
  }
}

/** @param {Reign} one @param {Reign} other */
function together(one, other) {
  const ms = Math.min(one.to, other.to) - Math.max(one.from, other.from);
  return { ms: Math.max(0, Math.round(ms)), who: `${nameOf(one)} and ${nameOf(other)}` };
}

/** @param {Reign} reign */
function nameOf({ node, timeline }) {
  return `${node} on timeline ${parseInt(timeline, 16)}`;
}
