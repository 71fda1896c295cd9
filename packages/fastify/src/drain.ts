import type { Server, ServerResponse } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.js';
import { answersNothing, whileUnfinished } from './internals.js';

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
  let closingSince = Infinity;
  const reap = (): void => {
    server.server.closeIdleConnections?.();
    const isLate = performance.now() - closingSince > (server.server.headersTimeout ?? Infinity);
    // For Node, who has not yet sent a request, or half of one, is not idle.
    for (const socket of sockets) {
      if (socket.bytesRead === 0 || (isLate && answersNothing(socket))) socket.destroy();
    }
  };

  let reaper: NodeJS.Timeout | undefined;
  server.addHook('preClose', (done) => {
    connections.close();
    spareAnswers(server.server, connections);
    closingSince = performance.now();
    reaper = setInterval(reap, REAP_EVERY_MS);
    done();
  });
  server.addHook('onClose', async () => {
    clearInterval(reaper);
    // On `localhost` Fastify listens twice, and waits for one of the two.
    await Promise.all(Array.from(connections.inFlight(), (life) => life.whenOver()));
  });
}

/** Node does so by itself from version 24 on. The streams under way are answered, and no more are taken. */
export function closeSessionsOnClose(server: FastifyInstance): void {
  const sessions = new Set<ServerHttp2Session>();
  let isClosing = false;
  server.server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    if (isClosing) session.close();
  });
  server.addHook('preClose', (done) => {
    isClosing = true;
    for (const session of sessions) session.close();
    done();
  });
}

/** To Node a connection is idle when its answer has ended, though a slow client may not have all of it yet. */
function spareAnswers(server: Server, connections: Connections): void {
  // A server for HTTP/2 alone has no such method, and no such problem: a session that closes sends all it has.
  const closeIdle = server.closeIdleConnections?.bind(server);
  if (!closeIdle) return;
  server.closeIdleConnections = () => {
    const leaving: ServerResponse[] = [];
    for (const { response } of connections.onSockets()) if (response.writableEnded) leaving.push(response);
    whileUnfinished(leaving, closeIdle);
  };
}
