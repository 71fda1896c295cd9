import type { Server } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** One turn to take a connection, one to read from it. */
const QUIET_TURNS = 2;
/** Newcomers may never cease; those told to stop must. */
const MOST_MS = 3000;

/**
 * Lets those in who already wait at the door: closing the server would reset their connections, with all they had sent.
 * Node takes one connection from the system's queue in each turn of its loop.
 */
export async function letWaitingClientsIn(server: Server): Promise<void> {
  const deadline = performance.now() + MOST_MS;
  let quietTurns = 0;
  const onConnection = (): void => void (quietTurns = 0);
  server.on('connection', onConnection);
  while (quietTurns < QUIET_TURNS && performance.now() < deadline) {
    quietTurns++;
    await nextTurn();
  }
  server.off('connection', onConnection);
}
