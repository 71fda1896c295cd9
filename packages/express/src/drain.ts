import { type IncomingMessage, Server, type ServerResponse } from 'node:http';
import { acceptedOn, beginToClose, sayGoodbye, silentOn } from './connections.js';
import { isLast, whileUnfinished } from './node-internals.js';
import { checkTimes } from './options.js';
import { RequestLife } from './request-life.js';
import { startTimer } from './timer.js';

export interface DrainOptions {
  /** After this long, connections are cut, WebSockets among them; `Infinity`: never. Default 10 s. */
  readonly timeoutMs?: number;
}

const REAP_EVERY_MS = 100;

/**
 * Closes a server: no new connections, `Connection: close` on every answer to come, and the connections that are idle,
 * or become so, are closed. Resolves when all are. (`server.close()` alone waits for keep-alive clients to leave.)
 *
 * @example
 * ```ts
 * import express from 'express';
 *
 * const server = express().listen(3000);
 * process.once('SIGTERM', () => void drain(server, { timeoutMs: 5000 }));
 * ```
 */
export function drain(server: Server, { timeoutMs = 10_000 }: DrainOptions = {}): Promise<void> {
  return new Promise((resolve) => {
    checkTimes({ timeoutMs }, 'timeoutMs');
    const onRequest = (_req: IncomingMessage, res: ServerResponse): void => sayGoodbye(res);
    server.prependListener('request', onRequest);
    for (const { res } of RequestLife.allOn(server)) if (isLast(res)) sayGoodbye(res);
    const isClosed = beginToClose(server);
    spareAnswers(server);
    // An answer whose head was sent when we began leaves its connection open; soon after, it is idle.
    const reaping = setInterval(() => {
      server.closeIdleConnections();
      for (const socket of silentOn(server)) socket.destroy();
    }, REAP_EVERY_MS);
    const cutting = startTimer(() => cut(server), timeoutMs);
    // A server that does not listen is as closed as can be.
    server.close(() => {
      clearInterval(reaping);
      clearTimeout(cutting);
      server.off('request', onRequest);
      Reflect.deleteProperty(server, 'closeIdleConnections');
      isClosed();
      resolve();
    });
  });
}

function cut(server: Server): void {
  server.closeAllConnections();
  for (const socket of acceptedOn(server)) socket.destroy();
}

/** To Node a connection is idle when its answer has ended, though a slow client may not have all of it yet. */
function spareAnswers(server: Server): void {
  server.closeIdleConnections = () => {
    const leaving: ServerResponse[] = [];
    for (const { res } of RequestLife.allOn(server)) if (res.writableEnded) leaving.push(res);
    whileUnfinished(leaving, () => Server.prototype.closeIdleConnections.call(server));
  };
}
