import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.js';

const REAP_EVERY_MS = 250;

/**
 * Lets `close()` wait for answers only. Fastify turns new requests away, but an answer that was under way would keep its
 * connection open for the keep-alive time-out, 72 seconds, and a client that never spoke for that of the headers.
 */
export function drainOnClose(server: FastifyInstance, connections: Connections): void {
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const reap = (): void => {
    // An HTTP/2 server has no such method, and no such problem: it ends its sessions.
    server.server.closeIdleConnections?.();
    // For Node, who has not yet sent a request is not idle.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };

  let reaper: NodeJS.Timeout | undefined;
  server.addHook('preClose', (done) => {
    connections.close();
    reaper = setInterval(reap, REAP_EVERY_MS);
    done();
  });
  server.addHook('onClose', async () => {
    clearInterval(reaper);
    // On `localhost` Fastify listens twice, and waits for one of the two.
    await Promise.all(Array.from(connections.inFlight(), (life) => life.whenOver()));
  });
}
