import { subscribe } from 'node:diagnostics_channel';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Node sets it on every socket that a server accepts. */
interface ServedSocket extends Socket {
  readonly server?: Server;
}

const accepted = new Set<ServedSocket>();
const closing = new WeakSet<Server>();
let watching = false;

/** From now on we know of every connection that a server of this process accepts; no server tells of them later. */
export function watchConnections(): void {
  if (watching) return;
  watching = true;
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { socket: Socket };
    accepted.add(socket);
    socket.once('close', () => accepted.delete(socket));
  });
}

/** Connections on which nothing came yet. Browsers open such in advance, and Node does not count them as idle. */
export function silentOn(server: Server): Socket[] {
  return [...accepted].filter((socket) => isOn(server, socket) && socket.bytesRead === 0);
}

export function isOn(server: Server, socket: Socket): boolean {
  return (socket as ServedSocket).server === server;
}

/** From now on, every answer is the last on its connection; what this returns ends that. */
export function beginToClose(server: Server): () => void {
  closing.add(server);
  return () => void closing.delete(server);
}

export function isClosing({ server }: ServedSocket): boolean {
  return server !== undefined && closing.has(server);
}

export function sayGoodbye(res: ServerResponse): void {
  if (!res.headersSent) res.setHeader('Connection', 'close');
  // The head of a stream that waits for COMMIT looks sent; this still finds its way into it.
  res.shouldKeepAlive = false;
}
