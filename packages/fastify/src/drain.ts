import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.js';

const REAP_EVERY_MS = 250;

/**
 * Lets `close()` wait for answers only. Fastify turns new requests away, but an answer that was under way would keep its
 * connection open for the keep-alive time-out, 72 seconds, and a client that never spoke would keep its own for ever: a
 * server of Node that closes no longer looks whether heads are late.
 */
export function drainOnClose(server: FastifyInstance, connections: Connections): void {
  const sockets = new Set<Socket>();
  const meet = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  server.server.on('connection', meet);
  // The one below has read a handshake. Only this one knows whether anything was asked.
  server.server.on('secureConnection', meet);
  const reap = (): void => {
    server.server.closeIdleConnections?.();
    // For Node, who has not yet sent a request is not idle.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };

  let reaper: NodeJS.Timeout | undefined;
  server.addHook('preClose', (done) => {
    connections.close();
    spareAnswers(server.server, connections);
    reaper = setInterval(reap, REAP_EVERY_MS);
    done();
  });
  server.addHook('onClose', async () => {
    clearInterval(reaper);
    // On `localhost` Fastify listens twice, and waits for one of the two.
    await Promise.all(Array.from(connections.inFlight(), (life) => life.whenOver()));
  });
}

/** To Node a connection is idle when its answer has ended, though a slow client may not have all of it yet. */
function spareAnswers(server: Server, connections: Connections): void {
  // An HTTP/2 server has no such method, and no such problem: it ends its sessions.
  const closeIdle = server.closeIdleConnections?.bind(server);
  if (!closeIdle) return;
  server.closeIdleConnections = () => {
    const leaving: { finished: boolean }[] = [];
    for (const { response } of connections.inFlight()) if (response.writableEnded) leaving.push(response);
    // This is what Node looks at.
    for (const response of leaving) response.finished = false;
    closeIdle();
    for (const response of leaving) response.finished = true;
  };
}
