import { randomBytes } from 'node:crypto';
import { type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import type { ILogger } from './logging/logger.js';

/** Also when no connection is free: another instance may have one. */
const NO_ANSWER = 'no answer from the database';
const READ_ONLY = 'the database is read-only';
const DISK_FULL = 'the disk of the database is full';
const UNREADY_STATES: Readonly<Record<string, Readiness>> = { '25006': READ_ONLY, '53100': DISK_FULL };

export type Readiness = 'ready' | 'starting' | 'draining' | typeof NO_ANSWER | typeof READ_ONLY | typeof DISK_FULL;

/** Matches no row, so it writes nothing; a database that is read-only refuses it all the same. */
const TRY_TO_WRITE = 'UPDATE migration_lock SET id = id WHERE id < 0';
/** Takes space, as random bytes cannot be compressed: only that shows whether a disk that was full has space again. */
const TAKE_SPACE = `INSERT INTO migrations (name, checksum) VALUES ('disk probe', $1)
  ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum`;
const FREE_SPACE = "DELETE FROM migrations WHERE name = 'disk probe'";
const PROBE_BYTES = 48 * 1024;

const PATIENCE_MS = 2000;

interface Finding {
  readonly readiness: Readiness;
  readonly err?: unknown;
}

/** Application-wide: whether a balancer should send requests here. */
export class Health {
  #phase: 'starting' | 'ready' | 'draining' = 'starting';
  #found: Readiness = 'ready';
  #diskWasFull = false;

  constructor(
    private readonly pool: Pick<IDatabasePool, 'query'>,
    private readonly logger: Pick<ILogger, 'error' | 'info'>,
  ) {}

  started(): void {
    this.#phase = 'ready';
  }

  draining(): void {
    this.#phase = 'draining';
  }

  /** What a request failed with: whether the disk has space left cannot be asked without writing to it. */
  requestFailed(error: unknown): void {
    if (UNREADY_STATES[sqlStateOf(error) ?? ''] === DISK_FULL) this.#diskWasFull = true;
  }

  async readiness(): Promise<Readiness> {
    if (this.#phase !== 'ready') return this.#phase;
    const finding = await this.#askDatabase();
    this.#tellNews(finding);
    return finding.readiness;
  }

  async #askDatabase(): Promise<Finding> {
    let giveUp: NodeJS.Timeout | undefined;
    const patience = new Promise<Finding>((resolve) => {
      giveUp = setTimeout(() => {
        resolve({ readiness: NO_ANSWER, err: new Error(`It did not answer within ${PATIENCE_MS} ms`) });
      }, PATIENCE_MS);
    });
    try {
      const answered = this.#tryToWrite().then(
        (): Finding => ({ readiness: 'ready' }),
        (err: unknown): Finding => ({ readiness: UNREADY_STATES[sqlStateOf(err) ?? ''] ?? NO_ANSWER, err }),
      );
      return await Promise.race([answered, patience]);
    } finally {
      clearTimeout(giveUp);
    }
  }

  async #tryToWrite(): Promise<void> {
    await this.pool.query(TRY_TO_WRITE);
    if (!this.#diskWasFull) return;
    await this.pool.query(TAKE_SPACE, [randomBytes(PROBE_BYTES).toString('base64')]);
    await this.pool.query(FREE_SPACE);
    this.#diskWasFull = false;
  }

  /** Balancers ask once a second; only a change is worth a line in the log. */
  #tellNews({ readiness, err }: Finding): void {
    if (readiness === this.#found) return;
    this.#found = readiness;
    if (readiness === 'ready') this.logger.info({ msg: 'ready again' });
    else this.logger.error({ msg: `not ready: ${readiness}`, err });
  }
}
