import { inspect } from 'node:util';
import { type Clock, systemClock } from '../clock.js';
import type { IDatabasePool } from '../contract.js';
import { TransactionError } from '../errors.js';
import { checkBoolean, checkClock, checkOneOf, checkTime, given } from '../options.js';

/** The servers of a `ReplicatedPool`, and when a replica serves no reads. */
export interface ReplicatedPoolOptions {
  /** Takes every write, and the reads that no replica may serve. */
  readonly primary: IDatabasePool;
  /**
   * One pool for each standby, and one server behind each pool: what is known of one server says nothing about another.
   * For `createPostgresPool()` with `targetSessionAttrs: 'prefer-standby'`, or every read needs a new connection.
   */
  readonly replicas: readonly IDatabasePool[];
  /** The server that reads go to first. Default `replica`; with `primary`, replicas serve them only where `staleReads` allows it. */
  readonly prefer?: 'primary' | 'replica';
  /**
   * While no primary can be reached, a read comes from a replica, however far behind that is: `readsFrom` of the session is then
   * `stale`. Default false: it fails.
   */
  readonly staleReads?: boolean;
  /** A replica that is further behind the primary serves no reads. Default: no limit. */
  readonly maxLagMs?: number;
  /** For how long it counts how far a replica was when it was last asked. Default 100 ms. */
  readonly checkEveryMs?: number;
  /** The time that a replica may take to give a connection, or to say how far it is. After that it is left out. Default 1 s. */
  readonly replicaTimeoutMs?: number;
  /** How often a server that was left out is asked whether it is back. Default 1 s. */
  readonly retryEveryMs?: number;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

const DEFAULTS = {
  prefer: 'replica',
  staleReads: false,
  maxLagMs: Infinity,
  checkEveryMs: 100,
  replicaTimeoutMs: 1000,
  retryEveryMs: 1000,
  clock: systemClock,
} satisfies Partial<ReplicatedPoolOptions>;

export type ReplicatedSettings = Required<ReplicatedPoolOptions>;

export function readReplicatedOptions(options: ReplicatedPoolOptions): ReplicatedSettings {
  const { primary, replicas } = options;
  checkPool('primary', primary);
  if (!Array.isArray(replicas)) throw invalid('replicas must be a list of pools', replicas);
  for (const [index, replica] of replicas.entries()) checkPool(`replicas[${index}]`, replica);
  for (const name of ['maxLagMs', 'checkEveryMs', 'replicaTimeoutMs', 'retryEveryMs'] as const)
    checkTime(name, options[name]);
  checkOneOf('prefer', options.prefer, ['primary', 'replica']);
  checkBoolean('staleReads', options.staleReads);
  checkClock(options.clock);
  return { ...DEFAULTS, ...given(options), primary, replicas };
}

function checkPool(name: string, pool: Partial<IDatabasePool> | undefined): void {
  if (typeof pool?.getConnection !== 'function') throw invalid(`${name} must be a pool`, pool);
}

function invalid(what: string, value: unknown): TransactionError {
  return new TransactionError('AMBIT_OPTION', `${what}, not ${inspect(value, { depth: 0 })}`);
}
