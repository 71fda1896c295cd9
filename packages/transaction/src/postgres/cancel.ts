import { connect } from 'node:net';

const CANCEL_REQUEST = 80_877_102;

export interface Backend {
  readonly host: string;
  readonly port: number;
  readonly processId: number;
  readonly secretKey: number;
}

/**
 * The protocol's own cancel request, on a socket of its own: it needs no place in the pool and no login. It travels
 * in clear text, as libpq's did up to version 16; it carries no data, only the key of the one backend.
 */
export function requestCancel({ host, port, processId, secretKey }: Backend, timeoutMs: number): void {
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  // Best effort: if the request does not arrive, the caller cuts the connection instead.
  socket.on('error', () => socket.destroy());
  socket.setTimeout(Math.min(timeoutMs, 2 ** 31 - 1), () => socket.destroy());
  const request = Buffer.alloc(16);
  request.writeInt32BE(16, 0);
  request.writeInt32BE(CANCEL_REQUEST, 4);
  request.writeInt32BE(processId, 8);
  request.writeInt32BE(secretKey, 12);
  socket.end(request);
}
