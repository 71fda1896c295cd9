import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import type { ReplicaSession, ReplicatedPool } from '@ambit/transaction/replicas';

/** For how long a client remembers its last write. Later, a replica has it or serves no reads. */
export const SESSION_S = 60;

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
  // What is read from now on, such as the next page of a long list, could not be described.
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
