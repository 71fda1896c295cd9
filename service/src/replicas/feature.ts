import type { IDatabasePool } from '@ambit/transaction';
import { createReplicatedPool, type ReplicatedPool } from '@ambit/transaction/replicas';
import { type Config, type ReplicatedConfig, replicatedDatabase } from '../config/config.js';
import { createReplicaPools } from '../database/pool.js';
import { Health } from '../health.js';
import { infrastructure } from '../infrastructure.js';
import { feature, make, when } from '../lifetimes.js';
import type { ILogger } from '../logging/logger.js';
import { SESSION_S } from './read-your-writes.js';

/** Half of the time for which a client remembers its last write: a replica that serves it later has that write. */
const MAX_LAG_MS = (SESSION_S * 1000) / 2;

/** What `DATABASE_READ_URL` adds to the object graph: the pool whose sessions requests use in place of the primary's. */
export const replicaFeature = (config: Config) =>
  when(replicatedDatabase(config), (given) =>
    feature(
      'replicas',
      {
        IReplicatedConfig: given,
        IReplicaPools: make('application', createReplicaPools, ['IReplicatedConfig']),
        IReplicatedPool: make(
          'application',
          (primary: IDatabasePool, pools: readonly IDatabasePool[], { replicas }: ReplicatedConfig): ReplicatedPool =>
            createReplicatedPool({
              primary,
              replicas: pools,
              prefer: replicas.readFrom,
              staleReads: true,
              maxLagMs: MAX_LAG_MS,
            }),
          ['IDatabasePool', 'IReplicaPools', 'IReplicatedConfig'],
        ),
        IHealth: make(
          'application',
          (primary: IDatabasePool, logger: ILogger, pools: readonly IDatabasePool[]): Health =>
            new Health(primary, logger, pools),
          ['IDatabasePool', 'ILogger', 'IReplicaPools'],
        ).override(),
      },
      infrastructure,
    ),
  );
