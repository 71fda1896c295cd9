import { randomBytes, randomUUID } from 'node:crypto';
import { type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import type { ILogger } from './logging/logger.js';

/** Also used when no connection is free: another instance may have one. */
const NO_RESPONSE = 'no response from the database';
const READ_ONLY = 'the database is read-only';
const DISK_FULL = 'the disk of the database is full';
const STORAGE_FAILS = 'the storage of the database fails';
const DAMAGED = 'the database is damaged';
const UNREADY_STATES: Readonly<Record<string, Readiness>> = {
  '25006': READ_ONLY,
  '53100': DISK_FULL,
  '58030': STORAGE_FAILS,
  // A file of PostgreSQL is missing.
  '58P01': DAMAGED,
  XX001: DAMAGED,
  XX002: DAMAGED,
};
/** What the operator may do, where the error does not say it. */
const ADVICE: Readonly<Partial<Record<Readiness, string>>> = {
  [NO_RESPONSE]:
    'Check that the server of DATABASE_URL runs and can be reached; without DATABASE_URL, look at the disk of DATA_DIR',
  [READ_ONLY]: 'Let DATABASE_URL lead to the primary, or let the service write to its file and to the folder',
  [DISK_FULL]: 'Make space on the disk: the service notices it by itself',
  [STORAGE_FAILS]:
    'Look at `err`, at the disk and at the limits of the process: the service notices when it can store again',
  [DAMAGED]: 'Restore a backup, or let the standby take over: what is damaged cannot be read any more',
};
/** These show only in requests: the probe stores something until it succeeds. */
const NEEDS_SPACE: ReadonlySet<Readiness | undefined> = new Set([DISK_FULL, STORAGE_FAILS]);
/** No probe knows which page it was: others may be served again, until a request finds it again. */
const DAMAGE_HOLDS_MS = 10_000;

export type Readiness =
  | 'ready'
  | 'read-only'
  | 'starting'
  | 'draining'
  | typeof NO_RESPONSE
  | typeof READ_ONLY
  | typeof DISK_FULL
  | typeof STORAGE_FAILS
  | typeof DAMAGED;

/** Matches no row, so it writes nothing; a read-only database refuses it nevertheless. */
const TRY_TO_WRITE = 'UPDATE migration_lock SET id = id WHERE id < 0';
/** Needs space, because random bytes cannot be compressed: only this shows whether a full disk has space again. */
const TAKE_SPACE = 'INSERT INTO migrations (name, checksum) VALUES ($1, $2)';
/** Also what an instance has left that crashed in between. */
const FREE_SPACE = "DELETE FROM migrations WHERE name LIKE 'disk probe%'";
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
  #mustStore = false;
  #damage: { readonly err: unknown; readonly until: number } | undefined = undefined;

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

  /** Called with the error of each failed request, because a full disk and a damaged page show only there. */
  requestFailed(err: unknown): void {
    const readiness = UNREADY_STATES[sqlStateOf(err) ?? ''];
    if (NEEDS_SPACE.has(readiness)) this.#mustStore = true;
    if (readiness === DAMAGED) this.#damage = { err, until: Date.now() + DAMAGE_HOLDS_MS };
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
    if (this.#damage && Date.now() < this.#damage.until) throw this.#damage.err;
    this.#damage = undefined;
    if (!this.#mustStore) return;
    const name = `disk probe ${randomUUID()}`;
    await this.pool.query(TAKE_SPACE, [name, randomBytes(PROBE_BYTES).toString('base64')]);
    await this.pool.query(FREE_SPACE);
    this.#mustStore = false;
  }

  /** Load balancers probe once a second, so only a change is logged. */
  #logChange(readiness: Readiness, { readiness: why, err }: ProbeResult): void {
    if (readiness === this.#lastReadiness) return;
    this.#lastReadiness = readiness;
    if (readiness === 'ready') this.logger.info({ msg: 'ready again' });
    else
      this.logger.error({
        msg: readiness === 'read-only' ? `ready to read only: ${why}` : `not ready: ${why}`,
        fix: ADVICE[why],
        err,
      });
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
