import { subscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Node sets it on every socket that a server accepts. */
interface ServedSocket extends Socket {
  readonly server?: unknown;
}

const accepted = new Set<ServedSocket>();
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
