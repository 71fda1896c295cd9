import { connect } from 'node:net';

const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;
/** Node fires what is longer at once. */
const LONGEST_MS = 2 ** 31 - 1;

interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Backend extends Address {
  readonly processId: number;
  readonly secretKey: number;
}

/**
 * The protocol's own cancel request, on a socket of its own: it needs no place in the pool and no login. It travels
 * in clear text, as libpq's did up to version 16; it carries no data, only the key of the one backend.
 */
export function requestCancel({ processId, secretKey, ...address }: Backend, timeoutMs: number): void {
  // Best effort: if the request does not arrive, the caller cuts the connection instead.
  void send(address, [CANCEL_REQUEST, processId, secretKey], timeoutMs);
}

/**
 * Whether the server is there. PostgreSQL and poolers respond to the request for TLS with one byte, without a login. A
 * server that refuses or closes the connection is there, too.
 */
export function serverResponds({ host, port }: Address, timeoutMs: number): Promise<boolean> {
  return send({ host, port }, [SSL_REQUEST], timeoutMs);
}

/** Resolves with whether the other side reacted in time. */
function send({ host, port }: Address, numbers: readonly number[], timeoutMs: number): Promise<boolean> {
  const message = Buffer.alloc(4 + 4 * numbers.length);
  [message.length, ...numbers].forEach((number, index) => message.writeInt32BE(number, 4 * index));
  return new Promise((resolve) => {
    const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    const settle = (reacted: boolean): void => {
      socket.destroy();
      resolve(reacted);
    };
    socket.setTimeout(Math.min(timeoutMs, LONGEST_MS), () => settle(false));
    for (const reaction of ['data', 'error', 'close'] as const) socket.on(reaction, () => settle(true));
    socket.write(message);
  });
}
