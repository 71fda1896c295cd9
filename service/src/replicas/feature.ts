import type { IDatabasePool } from '@ambit/transaction';
import { createReplicatedPool, type ReplicatedPool } from '@ambit/transaction/replicas';
import type { ReplicatedConfig } from '../config/config.js';
import { createReplicaPools } from '../database/pool.js';
import { Health } from '../health.js';
import { feature, make } from '../lifetimes.js';
import type { ILogger } from '../logging/logger.js';
import { SESSION_S } from './read-your-writes.js';

/** Half of the time for which a client remembers its last write: a replica that serves it later has that write. */
const MAX_LAG_MS = (SESSION_S * 1000) / 2;

/** What `DATABASE_READ_URL` adds to the object graph: the pool whose sessions requests use in place of the primary's. */
export const replicaFeature = (database: ReplicatedConfig) =>
  feature('replicas', {
    IReplicaPools: make('application', () => createReplicaPools(database)),
    IReplicatedPool: make(
      'application',
      (primary: IDatabasePool, pools: readonly IDatabasePool[]): ReplicatedPool =>
        createReplicatedPool({
          primary,
          replicas: pools,
          prefer: database.replicas.readFrom,
          staleReads: true,
          maxLagMs: MAX_LAG_MS,
        }),
      ['IDatabasePool', 'IReplicaPools'],
    ),
    IHealth: make(
      'application',
      (primary: IDatabasePool, logger: ILogger, pools: readonly IDatabasePool[]): Health =>
        new Health(primary, logger, pools),
      ['IDatabasePool', 'ILogger', 'IReplicaPools'],
    ).override(),
  });
