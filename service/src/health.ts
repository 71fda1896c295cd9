import { type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import type { ILogger } from './logging/logger.js';

/** Why the database cannot be used, and what the operator may do. */
const FAULTS = {
  /** Also where no connection is free: another instance may have one. */
  'no response from the database': 'Check that the server of DATABASE_URL, or the disk of DATA_DIR, responds',
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

/** Only requests find a full disk and a damaged page: after this time they try again. */
const FAILURE_HOLDS_MS = 10_000;
const PROBE_TIMEOUT_MS = 2000;
/** Matches no row, so it writes nothing; a read-only database refuses it nevertheless. */
const TRY_TO_WRITE = 'UPDATE migration_lock SET id = id WHERE id < 0';

type Readiness = 'ready' | 'starting' | 'draining' | Fault;

const READY = 'ready again';

/** Application-wide: whether a load balancer should send requests to this instance. */
export class Health {
  #phase: 'starting' | 'ready' | 'draining' = 'starting';
  /** The message that was logged last. */
  #lastMsg = READY;
  #failure: { readonly err: unknown; readonly until: number } | undefined;

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

  /** Called with the error of each failed request. One that met a read-only server may be the last there: the probe knows. */
  requestFailed(err: unknown): void {
    const fault = faultOf(err);
    if (fault && fault !== 'the database is read-only') this.#failure = { err, until: Date.now() + FAILURE_HOLDS_MS };
  }

  async readiness(): Promise<Readiness> {
    if (this.#phase !== 'ready') return this.#phase;
    try {
      await inTime(this.#tryToWrite());
      this.#say(READY);
      return 'ready';
    } catch (err) {
      const fault = faultOf(err) ?? 'no response from the database';
      this.#say(`not ready: ${fault}`, { fix: FAULTS[fault], err });
      return fault;
    }
  }

  async #tryToWrite(): Promise<void> {
    await this.pool.query(TRY_TO_WRITE);
    if (this.#failure && Date.now() < this.#failure.until) throw this.#failure.err;
  }

  /** Load balancers probe once a second, so only a change is logged. */
  #say(msg: string, why?: object): void {
    if (msg === this.#lastMsg) return;
    this.#lastMsg = msg;
    if (why) this.logger.error({ msg, ...why });
    else this.logger.info({ msg });
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
