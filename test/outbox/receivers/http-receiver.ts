import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IConnection, IDatabasePool } from '@ambit/transaction';

const MAX_AGE_S = 300;

/** Whether the body was sent by somebody who has the key, and lately. The secret of the service is `whsec_` and the key in base64. */
function isGenuine(key: Buffer, headers: IncomingHttpHeaders, body: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(at)) < MAX_AGE_S)) return false;
  const wanted = createHmac('sha256', key)
    .update(`${String(id)}.${String(at)}.${body}`)
    .digest();
  // While a secret is replaced, the header has a signature for each.
  return String(given)
    .split(' ')
    .map((one) => Buffer.from(one.replace('v1,', ''), 'base64'))
    .some((signature) => signature.length === wanted.length && timingSafeEqual(signature, wanted));
}

interface CloudEvent {
  readonly id: string;
  readonly type: string;
  readonly subject?: string;
  readonly data: unknown;
}
type Handle = (connection: Pick<IConnection, 'query'>, event: CloudEvent) => Promise<void>;

/** The id is stored in the transaction of the work: a repetition finds it, and does nothing. */
async function handleOnce(pool: IDatabasePool, event: CloudEvent, handle: Handle): Promise<void> {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    const insert = 'INSERT INTO received_events (id) VALUES ($1) ON CONFLICT (id) DO NOTHING RETURNING id';
    const [isNew] = await connection.query(insert, [event.id]);
    if (isNew) await handle(connection, event);
    await connection.commit();
    connection.release();
  } catch (error) {
    connection.release(true);
    throw error;
  }
}

/** Responds with 2xx only when the work is committed: anything else brings the event back. */
export function eventServer(key: Buffer, pool: IDatabasePool, handle: Handle): Server {
  const statusOf = async (req: IncomingMessage): Promise<number> => {
    const body = await text(req);
    if (!isGenuine(key, req.headers, body)) return 401;
    await handleOnce(pool, JSON.parse(body) as CloudEvent, handle);
    return 204;
  };
  return createServer((req, res) => {
    const failed = (error: unknown): number => {
      console.error(error);
      return 500;
    };
    void statusOf(req)
      .catch(failed)
      .then((status) => res.writeHead(status).end());
  });
}
