import { randomBytes } from 'node:crypto';
import { type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import type { ILogger } from './logging/logger.js';

/** Also used when no connection is free: another instance may have one. */
const NO_RESPONSE = 'no answer from the database';
const READ_ONLY = 'the database is read-only';
const DISK_FULL = 'the disk of the database is full';
const UNREADY_STATES: Readonly<Record<string, Readiness>> = { '25006': READ_ONLY, '53100': DISK_FULL };

export type Readiness = 'ready' | 'starting' | 'draining' | typeof NO_RESPONSE | typeof READ_ONLY | typeof DISK_FULL;

/** Matches no row, so it writes nothing; a read-only database refuses it nevertheless. */
const TRY_TO_WRITE = 'UPDATE migration_lock SET id = id WHERE id < 0';
/** Needs space, because random bytes cannot be compressed: only this shows whether a full disk has space again. */
const TAKE_SPACE = `INSERT INTO migrations (name, checksum) VALUES ('disk probe', $1)
  ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum`;
const FREE_SPACE = "DELETE FROM migrations WHERE name = 'disk probe'";
const PROBE_BYTES = 48 * 1024;

const PROBE_TIMEOUT_MS = 2000;

interface ProbeResult {
  readonly readiness: Readiness;
  readonly err?: unknown;
}

/** Application-wide: whether a load balancer should send requests to this instance. */
export class Health {
  #phase: 'starting' | 'ready' | 'draining' = 'starting';
  #lastReadiness: Readiness = 'ready';
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

  /** Called with the error of each failed request, because a full disk shows only when something is written. */
  requestFailed(error: unknown): void {
    if (UNREADY_STATES[sqlStateOf(error) ?? ''] === DISK_FULL) this.#diskWasFull = true;
  }

  async readiness(): Promise<Readiness> {
    if (this.#phase !== 'ready') return this.#phase;
    const result = await this.#probeDatabase();
    this.#logChange(result);
    return result.readiness;
  }

  async #probeDatabase(): Promise<ProbeResult> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<ProbeResult>((resolve) => {
      timer = setTimeout(() => {
        resolve({
          readiness: NO_RESPONSE,
          err: new Error(`The database did not respond within ${PROBE_TIMEOUT_MS} ms`),
        });
      }, PROBE_TIMEOUT_MS);
    });
    try {
      const probe = this.#tryToWrite().then(
        (): ProbeResult => ({ readiness: 'ready' }),
        (err: unknown): ProbeResult => ({ readiness: UNREADY_STATES[sqlStateOf(err) ?? ''] ?? NO_RESPONSE, err }),
      );
      return await Promise.race([probe, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #tryToWrite(): Promise<void> {
    await this.pool.query(TRY_TO_WRITE);
    if (!this.#diskWasFull) return;
    await this.pool.query(TAKE_SPACE, [randomBytes(PROBE_BYTES).toString('base64')]);
    await this.pool.query(FREE_SPACE);
    this.#diskWasFull = false;
  }

  /** Load balancers probe once a second, so only a change is logged. */
  #logChange({ readiness, err }: ProbeResult): void {
    if (readiness === this.#lastReadiness) return;
    this.#lastReadiness = readiness;
    if (readiness === 'ready') this.logger.info({ msg: 'ready again' });
    else this.logger.error({ msg: `not ready: ${readiness}`, err });
  }
}
