import { randomBytes, randomUUID } from 'node:crypto';
import { type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import type { ILogger } from './logging/logger.js';

/** Why the database cannot be used, and what the operator may do, where the error does not say it. */
const FAULTS = {
  /** Also where no connection is free: another instance may have one. */
  'no response from the database':
    'Check that the server of DATABASE_URL runs and can be reached; without DATABASE_URL, look at the disk of DATA_DIR',
  'the database is read-only':
    'Let DATABASE_URL lead to the primary, or let the service write to its file and to the folder',
  'the disk of the database is full': 'Make space on the disk: the service notices it by itself',
  'the storage of the database fails':
    'Look at `err`, at the disk and at the limits of the process: the service notices when it can store again',
  'the database is damaged': 'Restore a backup, or let the standby take over: what is damaged cannot be read any more',
} as const;
type Fault = keyof typeof FAULTS;

/** By SQLSTATE. */
const FAULT_OF: Readonly<Record<string, Fault>> = {
  '25006': 'the database is read-only',
  '53100': 'the disk of the database is full',
  '58030': 'the storage of the database fails',
  // A file of PostgreSQL is missing.
  '58P01': 'the database is damaged',
  XX001: 'the database is damaged',
  XX002: 'the database is damaged',
};
const faultOf = (err: unknown): Fault | undefined => FAULT_OF[sqlStateOf(err) ?? ''];

/** No probe knows which page it was: others may be served again, until a request finds it again. */
const DAMAGE_HOLDS_MS = 10_000;
const PROBE_TIMEOUT_MS = 2000;
/** Matches no row, so it writes nothing; a read-only database refuses it nevertheless. */
const TRY_TO_WRITE = 'UPDATE migration_lock SET id = id WHERE id < 0';
/** Needs space, because random bytes cannot be compressed: only this shows whether a full disk has space again. */
const TAKE_SPACE = 'INSERT INTO migrations (name, checksum) VALUES ($1, $2)';
/** Also what an instance has left that crashed in between. */
const FREE_SPACE = "DELETE FROM migrations WHERE name LIKE 'disk probe%'";
const PROBE_BYTES = 48 * 1024;
/** Also shows that the replica has the tables. */
const TRY_TO_READ = 'SELECT id FROM migration_lock LIMIT 1';

type Readiness = 'ready' | 'read-only' | 'starting' | 'draining' | Fault;

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
    const fault = faultOf(err);
    // The probe stores something until it succeeds.
    if (fault === 'the disk of the database is full' || fault === 'the storage of the database fails')
      this.#mustStore = true;
    if (fault === 'the database is damaged') this.#damage = { err, until: Date.now() + DAMAGE_HOLDS_MS };
  }

  async readiness(): Promise<Readiness> {
    if (this.#phase !== 'ready') return this.#phase;
    // Both at the same time, so that together they take no longer than one of them.
    const reading = inTime(Promise.any(this.replicas.map((replica) => replica.query(TRY_TO_READ)))).then(
      () => true,
      () => false,
    );
    const failure = await inTime(this.#tryToWrite()).then(
      () => undefined,
      (err: unknown) => ({ err, why: faultOf(err) ?? ('no response from the database' as const) }),
    );
    const readiness = failure === undefined ? 'ready' : (await reading) ? 'read-only' : failure.why;
    // Load balancers probe once a second, so only a change is logged.
    if (readiness !== this.#lastReadiness) {
      this.#lastReadiness = readiness;
      if (failure) {
        const { why, err } = failure;
        const msg = readiness === 'read-only' ? `ready to read only: ${why}` : `not ready: ${why}`;
        this.logger.error({ msg, fix: FAULTS[why], err });
      } else this.logger.info({ msg: 'ready again' });
    }
    return readiness;
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
}

async function inTime(probe: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`The database did not respond within ${PROBE_TIMEOUT_MS} ms`);
    timer = setTimeout(() => reject(error), PROBE_TIMEOUT_MS);
  });
  await Promise.race([probe, late]).finally(() => clearTimeout(timer));
}
