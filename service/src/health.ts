import { randomBytes } from 'node:crypto';
import { type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import type { ILogger } from './logging/logger.js';

/** Also used when no connection is free: another instance may have one. */
const NO_RESPONSE = 'no response from the database';
const READ_ONLY = 'the database is read-only';
const DISK_FULL = 'the disk of the database is full';
const UNREADY_STATES: Readonly<Record<string, Readiness>> = { '25006': READ_ONLY, '53100': DISK_FULL };

export type Readiness =
  | 'ready'
  | 'read-only'
  | 'starting'
  | 'draining'
  | typeof NO_RESPONSE
  | typeof READ_ONLY
  | typeof DISK_FULL;

/** Matches no row, so it writes nothing; a read-only database refuses it nevertheless. */
const TRY_TO_WRITE = 'UPDATE migration_lock SET id = id WHERE id < 0';
/** Needs space, because random bytes cannot be compressed: only this shows whether a full disk has space again. */
const TAKE_SPACE = `INSERT INTO migrations (name, checksum) VALUES ('disk probe', $1)
  ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum`;
const FREE_SPACE = "DELETE FROM migrations WHERE name = 'disk probe'";
const PROBE_BYTES = 48 * 1024;

/** Also shows that the replica has the tables. */
const TRY_TO_READ = 'SELECT id FROM migration_lock LIMIT 1';

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
    /** Where requests read while nothing can be written. */
    private readonly replicas: readonly Pick<IDatabasePool, 'query'>[] = [],
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
    // Both at the same time, so that together they take no longer than one of them.
    const reading = this.#canRead();
    const result = await this.#probeDatabase();
    const readiness = result.readiness !== 'ready' && (await reading) ? 'read-only' : result.readiness;
    this.#logChange(readiness, result);
    return readiness;
  }

  #probeDatabase(): Promise<ProbeResult> {
    const probe = this.#tryToWrite().then(
      (): ProbeResult => ({ readiness: 'ready' }),
      (err: unknown): ProbeResult => ({ readiness: UNREADY_STATES[sqlStateOf(err) ?? ''] ?? NO_RESPONSE, err }),
    );
    return inTime(probe, () => ({
      readiness: NO_RESPONSE,
      err: new Error(`The database did not respond within ${PROBE_TIMEOUT_MS} ms`),
    }));
  }

  /** Whether one of the replicas serves requests that only read. */
  #canRead(): Promise<boolean> {
    const probes = this.replicas.map((replica) => replica.query(TRY_TO_READ));
    const probe = Promise.any(probes).then(
      () => true,
      () => false,
    );
    return inTime(probe, () => false);
  }

  async #tryToWrite(): Promise<void> {
    await this.pool.query(TRY_TO_WRITE);
    if (!this.#diskWasFull) return;
    await this.pool.query(TAKE_SPACE, [randomBytes(PROBE_BYTES).toString('base64')]);
    await this.pool.query(FREE_SPACE);
    this.#diskWasFull = false;
  }

  /** Load balancers probe once a second, so only a change is logged. */
  #logChange(readiness: Readiness, { readiness: why, err }: ProbeResult): void {
    if (readiness === this.#lastReadiness) return;
    this.#lastReadiness = readiness;
    if (readiness === 'ready') this.logger.info({ msg: 'ready again' });
    else
      this.logger.error({ msg: readiness === 'read-only' ? `ready to read only: ${why}` : `not ready: ${why}`, err });
  }
}

async function inTime<T>(probe: Promise<T>, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(late()), PROBE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([probe, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
