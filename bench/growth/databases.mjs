import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readConfig, startService } from '../../service/dist/index.js';
import { ENGINES } from './engines/engines.mjs';
import { GROUPS, insertsOf } from './rows.mjs';

/** How many orders the databases have. The other tables are in proportion. */
export const SIZES = [10_000, 100_000, 1_000_000, 10_000_000];
/** What is flat has grown by no more than this factor. */
export const FLAT = 1.5;
export const DEFAULT_FOLDER = process.env.GROWTH_DATA ?? join(tmpdir(), 'ambit-growth');

/** Filled again before each run, which would otherwise find what the runs before have stored. */
const SMALL_ORDERS = 100_000;
/** The service deletes keys that are older than a day. */
const KEYS_FRESH_MS = 8 * 3_600_000;

/** `twin` is a second database of the same size. */
export const nameOf = (orders, twin = false) => `growth_${orders}${twin ? '_twin' : ''}`;

/** The databases of one engine, which stay in the folder: prepared once, and started again for each run. */
export class Databases {
  #dialect;
  #folder;

  /** @param {keyof typeof ENGINES} dialect @param {import('./engines/engines.mjs').Engine} engine @param {string} folder */
  constructor(dialect, engine, folder) {
    this.#dialect = dialect;
    this.#folder = folder;
    this.engine = engine;
  }

  static async open(dialect, parent = DEFAULT_FOLDER) {
    const folder = resolve(parent, dialect);
    mkdirSync(folder, { recursive: true });
    return new Databases(dialect, await ENGINES[dialect].start(folder), folder);
  }

  /**
   * Makes sure that a database is as it was when it was first filled, or in a large one, nearly so.
   *
   * @param {string} name
   * @param {number} orders
   * @param {(what: string) => void} [report] called when tables were filled
   */
  async prepare(name, orders, report = () => {}) {
    if (orders <= SMALL_ORDERS || !existsSync(this.#markOf(name, ['users']))) {
      for (const tables of GROUPS) rmSync(this.#markOf(name, tables), { force: true });
      await this.engine.create(name);
    }
    const missing = GROUPS.filter((tables) => !this.#isFilled(name, tables));
    if (missing.length > 0) await this.#migrate(name);
    const inserts = insertsOf(this.#dialect, orders);
    for (const tables of missing) {
      const start = performance.now();
      await this.engine.fill(name, Object.fromEntries(tables.map((table) => [table, inserts[table]])));
      writeFileSync(this.#markOf(name, tables), '');
      report(`${name}: ${tables.join(' and ')} filled in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
    await this.engine.warm(name);
  }

  stop() {
    return this.engine.stop();
  }

  #markOf(name, tables) {
    return join(this.#folder, `${name}.${tables.join('.')}.filled`);
  }

  #isFilled(name, tables) {
    const mark = statSync(this.#markOf(name, tables), { throwIfNoEntry: false });
    return mark !== undefined && (tables[0] !== 'idempotency_keys' || Date.now() - mark.mtimeMs < KEYS_FRESH_MS);
  }

  /** The service creates its tables when it starts. */
  async #migrate(name) {
    const environment = { ...process.env, ...this.engine.environmentOf(name), PORT: '0', LOG_LEVEL: 'silent' };
    const service = await startService(readConfig(environment));
    await service.stop();
  }
}
