import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import { createReplicatedPool, type ReplicaSession, type ReplicatedPool } from '@ambit/transaction/replicas';
import type { Config } from '../config/config.js';
import { type ReplicatedConfig, replicatedDatabase } from '../config/database.js';
import { createReplicaPools } from '../database/engines/postgres.js';
import { Health } from '../health.js';
import { feature, infrastructure, make, when } from '../infrastructure.js';
import type { ILogger } from '../logging/logger.js';

/** For how long a client remembers its last write. Later, a replica has it or serves no reads. */
const SESSION_S = 60;

const COOKIE = 'read-after';
const SENT = new RegExp(`(?:^|;) *${COOKIE}=([^;]*)`);

/** The members of `Cache-Status`, RFC 9211: a replica is a cache of the primary, which was not asked. */
const SOURCES = {
  replica: 'replica; hit',
  stale: 'replica; hit; detail=primary-unavailable',
} as const;

/**
 * Continues the client's session of reads and writes, and tells the client in the head of the response how far it has written, and
 * where its reads came from.
 */
export function continueSession(
  replicas: ReplicatedPool,
  container: IContainer,
  req: IncomingMessage,
  res: ServerResponse,
): void {
  const sent = SENT.exec(req.headers.cookie ?? '')?.[1];
  const session = replicas.session(sent);
  container.register('IDatabasePool', () => session);
  const before = session.token;
  beforeHead(res, () => describeSession(session, before, res));
}

function describeSession(session: ReplicaSession, before: string | undefined, res: ServerResponse): void {
  // The headers cannot describe a read after them, such as the next page of a long list.
  session.staleReads = false;
  const { readsFrom, token } = session;
  if (readsFrom === 'replica' || readsFrom === 'stale') res.setHeader('cache-status', SOURCES[readsFrom]);
  if (token !== undefined && token !== before)
    res.appendHeader('set-cookie', `${COOKIE}=${token}; Path=/; Max-Age=${SESSION_S}; HttpOnly; SameSite=Lax`);
}

/** Every way to begin a response leads through `writeHead()`, and on both hosts COMMIT comes before it. */
function beforeHead(res: ServerResponse, act: () => void): void {
  const writeHead = res.writeHead.bind(res) as (...args: unknown[]) => ServerResponse;
  res.writeHead = (...args: unknown[]) => {
    if (!res.headersSent) act();
    return writeHead(...args);
  };
}

/** Half of the time for which a client remembers its last write: a replica that serves it later has that write. */
const MAX_LAG_MS = (SESSION_S * 1000) / 2;

/** `DATABASE_READ_URL` adds this to the object graph: requests use the sessions of its pool in place of the primary's. */
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
