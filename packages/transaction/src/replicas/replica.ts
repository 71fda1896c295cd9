import { type Clock, within } from '../clock.js';
import type { AcquireOptions, IDatabasePool, IPooledConnection, Row } from '../contract.js';
import { meaningOf, TransactionError } from '../errors.js';
import { isRetryable } from '../sql-state.js';
import { AcquireRequest, cancelledBy, onCancelled } from '../pool/waiting.js';
import type { ReplicatedSettings } from './options.js';
import type { Primary } from './primary.js';

/** A position in the write-ahead log of PostgreSQL, such as `16/B374D848`, as one number. */
export type Position = bigint;

/** Every replica has replayed this. */
export const START: Position = 0n;

/** No replica ever replays this: what was written has an unknown position, so only the primary certainly has it. */
export const UNKNOWN: Position = 0xff_ff_ff_ff_ff_ff_ff_ffn;

/** The position behind the record of every COMMIT that the primary has responded to. */
export const WRITTEN = 'SELECT pg_current_wal_insert_lsn()::text AS position';

/** NULL on a server that is no standby any more, or never was one: it follows nobody. */
const REPLAYED = 'SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text END AS position';

const TEXT = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i;

/** Undefined for any other text. */
export function readPosition(text: unknown): Position | undefined {
  const [, high, low] = typeof text === 'string' ? (TEXT.exec(text) ?? []) : [];
  return high === undefined ? undefined : (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/** The result of one of the two statements. */
export function positionIn([row]: readonly Row[]): Position | undefined {
  return readPosition(row?.['position']);
}

export function writePosition(position: Position): string {
  return `${(position >> 32n).toString(16)}/${(position & 0xff_ff_ff_ffn).toString(16)}`.toUpperCase();
}

interface Limits {
  readonly clock: Clock;
  readonly replicaTimeoutMs: number;
}

const tookTooLong = (): Error =>
  new TransactionError('AMBIT_TX_TIMEOUT', 'The server took too long for a short statement');

/** One short statement, for which a server that responds needs no time. Where it takes long, its connection is not used again. */
export async function probe(
  connecting: Promise<IPooledConnection>,
  sql: string,
  { clock, replicaTimeoutMs }: Limits,
): Promise<Row[]> {
  const connection = await connecting;
  let broken = true;
  try {
    const rows = await within(clock, replicaTimeoutMs, connection.query(sql), tookTooLong);
    broken = false;
    return rows;
  } finally {
    connection.release(broken);
  }
}

/** One standby: how far it has replayed, as of when it was last asked, and whether it responds. */
export class Replica {
  readonly #pool: IDatabasePool;
  readonly #settings: ReplicatedSettings;
  /** Undefined where it is no standby any more. */
  #replayed: Position | undefined = START;
  #askedAt = -Infinity;
  #isOut = false;
  /** Never rejects. */
  #asking: Promise<void> | undefined = undefined;

  constructor(pool: IDatabasePool, settings: ReplicatedSettings) {
    this.#pool = pool;
    this.#settings = settings;
  }

  /** True if it responded when it was last asked. */
  get isThere(): boolean {
    return !this.#isOut;
  }

  /**
   * Tells if it has replayed so far. What it said last counts for `checkEveryMs` only, because a standby that restarts may
   * be behind where it was.
   */
  async hasReplayed(position: Position): Promise<boolean> {
    const { checkEveryMs, retryEveryMs } = this.#settings;
    const isDue = this.#settings.clock.now() - this.#askedAt >= (this.#isLeftOut ? retryEveryMs : checkEveryMs);
    const asking = isDue ? (this.#asking ??= this.#ask()) : this.#asking;
    // Nobody waits for one that is left out, nor where the response would change nothing.
    if (asking && isDue && !this.#isLeftOut && position > START) await asking;
    return !this.#isOut && this.#replayed !== undefined && this.#replayed >= position;
  }

  /** Leaves the replica out until it says again how far it is. */
  leaveOut(): void {
    this.#isOut = true;
    this.#askedAt = this.#settings.clock.now();
  }

  async connect(options: AcquireOptions): Promise<IPooledConnection> {
    const { isolation, timeoutMs = Infinity } = options;
    const beginOptions = isolation === undefined ? { readOnly: true } : { isolation, readOnly: true };
    const request = new AcquireRequest(beginOptions, Math.min(timeoutMs, this.#settings.replicaTimeoutMs));
    const why = cancelledBy(options);
    if (why) request.cancel(why.reason);
    const stopListening = onCancelled(options, ({ reason }) => request.cancel(reason));
    try {
      return await this.#pool.getConnection(request);
    } finally {
      stopListening();
    }
  }

  get #isLeftOut(): boolean {
    return this.#isOut || this.#replayed === undefined;
  }

  async #ask(): Promise<void> {
    const { clock, replicaTimeoutMs } = this.#settings;
    const late = (): Error => new Error('The replica took too long to say how far it is');
    try {
      const asking = probe(this.connect({}), REPLAYED, this.#settings);
      this.#replayed = positionIn(await within(clock, replicaTimeoutMs, asking, late));
      this.#isOut = false;
      this.#askedAt = clock.now();
    } catch {
      this.leaveOut();
    } finally {
      this.#asking = undefined;
    }
  }
}

export class Written {
  #position: Position;
  /** How often a position could not be found out. */
  #unknown = 0;

  constructor(position: Position = START) {
    this.#position = position;
  }

  get position(): Position {
    return this.#position;
  }

  /** Before the primary is asked: its response covers what was written before, and not what becomes unknown meanwhile. */
  asking(): (position: Position) => void {
    const before = this.#unknown;
    return (position) => {
      if (position === UNKNOWN) this.#unknown += 1;
      else if (this.#position === UNKNOWN ? this.#unknown > before : this.#position > position) return;
      this.#position = position;
    };
  }
}

export type Ask<T> = (connection: IPooledConnection) => Promise<T>;

/** Undefined where another server has to be asked. */
export async function connectTo(replica: Replica, options: AcquireOptions): Promise<IPooledConnection | undefined> {
  try {
    return await replica.connect(options);
  } catch (error) {
    if (meaningOf(error).fault === 'caller') throw error;
    replica.leaveOut();
    return undefined;
  }
}

/** Undefined where another server has to be asked. */
export async function askReplica<T extends object>(replica: Replica, ask: Ask<T>): Promise<T | undefined> {
  const connection = await connectTo(replica, {});
  if (!connection) return undefined;
  try {
    return await askAndRelease(connection, ask);
  } catch (error) {
    // The records that a standby replays may cancel a read, and only there.
    if (isRetryable(error)) return undefined;
    if (meaningOf(error).fault !== 'server') throw error;
    replica.leaveOut();
    return undefined;
  }
}

export async function askAndRelease<T>(connection: IPooledConnection, ask: Ask<T>): Promise<T> {
  try {
    return await ask(connection);
  } finally {
    connection.release();
  }
}

interface Sample {
  readonly at: number;
  readonly position: Position;
}

/**
 * How far a replica must be to be no further behind than `maxLagMs`: where the primary was at the earliest known moment
 * since then. The replica's own clock plays no part, and a primary without writes makes no replica late.
 */
export class LagLimit {
  readonly #settings: ReplicatedSettings;
  readonly #primary: Primary;
  /** Oldest first; one of them is kept however old it is. */
  readonly #samples: Sample[] = [];
  #asking: Promise<void> | undefined = undefined;

  constructor(settings: ReplicatedSettings, primary: Primary) {
    this.#settings = settings;
    this.#primary = primary;
  }

  async required(): Promise<Position> {
    const { clock, maxLagMs, checkEveryMs } = this.#settings;
    if (maxLagMs === Infinity) return START;
    const now = clock.now();
    const last = this.#samples.at(-1);
    if (!last || now - last.at >= checkEveryMs) this.#asking ??= this.#ask();
    if (!last || now - last.at > maxLagMs) await this.#asking;
    while (this.#samples.length > 1 && now - (this.#samples[0]?.at ?? 0) > maxLagMs) this.#samples.shift();
    return this.#samples[0]?.position ?? START;
  }

  /** While the primary does not respond, nothing new is written, and the last sample stands. */
  async #ask(): Promise<void> {
    const at = this.#settings.clock.now();
    const position = await this.#primary.probe(WRITTEN).then(positionIn, () => undefined);
    if (position !== undefined) this.#samples.push({ at, position });
    this.#asking = undefined;
  }
}
