import { Client, Pool } from 'pg';
import { ask } from '../instances/client.mjs';
import { freePort, until } from '../kit/program.mjs';
import { createDatabase } from '../kit/databases.mjs';

/** What one story has: a database of its own, and containers that are removed after it. */
export class Place {
  #podman;
  #image;
  /** @type {(() => unknown)[]} */
  #cleanups = [];
  /** @type {URL} */
  database;
  /** @type {Pool} */
  #pool;

  /**
   * @param {import('./podman.mjs').Podman} podman
   * @param {string} image
   */
  static async open(podman, image) {
    const { env, drop } = await createDatabase('postgres');
    return new Place(podman, image, new URL(env['DATABASE_URL'] ?? ''), [drop]);
  }

  /**
   * @param {import('./podman.mjs').Podman} podman
   * @param {string} image
   * @param {URL} database
   * @param {(() => unknown)[]} cleanups
   */
  constructor(podman, image, database, cleanups) {
    this.#podman = podman;
    this.#image = image;
    this.database = database;
    this.#pool = new Pool({ connectionString: database.href, max: 2 });
    // DROP DATABASE may be faster than the end of these connections.
    this.#pool.on('error', () => undefined);
    this.#cleanups = [...cleanups, () => this.#pool.end()];
  }

  /** @param {string} sql @param {unknown[]} [params] @returns {Promise<Record<string, unknown>[]>} */
  query = async (sql, params) => (await this.#pool.query(sql, params)).rows;

  isSomebodyWaiting = async () =>
    (await this.query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))
      .length > 0;

  /** Orders of this product wait until the returned function is called. @param {string} productId */
  async lockStock(productId) {
    const holder = new Client({ connectionString: this.database.href });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT level FROM stock WHERE product_id = $1 FOR UPDATE', [productId]);
    return () => holder.end();
  }

  /** @param {import('./podman.mjs').RunOptions} options */
  async run(options, image = this.#image) {
    const container = await this.#podman.run(image, options);
    this.#cleanups.push(() => container.remove());
    return container;
  }

  /** Resolves when the service in a container is ready. @param {string} host @param {Record<string, string>} [env] */
  async startService(host, env = {}) {
    const port = await freePort();
    const settings = { HOST: '127.0.0.1', PORT: String(port), HOST_VARIANT: host };
    const container = await this.run({ env: { ...settings, ...env } });
    const url = `http://127.0.0.1:${port}`;
    await this.untilReady(url).catch(async (/** @type {unknown} */ error) => {
      throw new Error(await container.logs(), { cause: error });
    });
    return { url, container };
  }

  /** @param {string} url */
  untilReady(url) {
    const isReady = () =>
      ask(`${url}/health/ready`).then(
        ({ status }) => status === 200,
        () => false,
      );
    return until('the service to be ready', isReady);
  }

  async close() {
    for (const cleanUp of this.#cleanups.toReversed()) await cleanUp();
  }
}
