import { subscribe } from 'node:diagnostics_channel';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { serverOf } from './node-internals.js';

const accepted = new Set<Socket>();
const known = new WeakSet<Server>();
const closing = new WeakSet<Server>();
let watching = false;

/** From now on we know of every connection that a server of this process accepts; no server tells of them later. */
export function watchConnections(): void {
  if (watching) return;
  watching = true;
  subscribe('net.server.socket', (message) => {
    const { socket } = message as { socket: Socket };
    meet(socket);
    const server = serverOf(socket);
    if (!server || known.has(server)) return;
    known.add(server);
    // The one below has read a handshake. Only this one knows whether anything was asked.
    server.on('secureConnection', meet);
  });
}

function meet(socket: Socket): void {
  accepted.add(socket);
  socket.once('close', () => accepted.delete(socket));
}

/** Also those that have left HTTP, of which Node's server forgets: WebSockets, and the tunnels of CONNECT. */
export function acceptedOn(server: Server): Socket[] {
  return [...accepted].filter((socket) => isOn(server, socket));
}

/** Connections on which nothing came yet. Browsers open such in advance, and Node does not count them as idle. */
export function silentOn(server: Server): Socket[] {
  return acceptedOn(server).filter((socket) => socket.bytesRead === 0);
}

export function isOn(server: Server, socket: Socket): boolean {
  return serverOf(socket) === server;
}

/** From now on, every answer is the last on its connection; what this returns ends that. */
export function beginToClose(server: Server): () => void {
  closing.add(server);
  return () => void closing.delete(server);
}

export function isClosing(socket: Socket): boolean {
  const server = serverOf(socket);
  return server !== undefined && closing.has(server);
}

/** On each connection, the answer that was told to be the last. */
const lastOn = new WeakMap<Socket, ServerResponse>();

/** Of pipelined answers only the last may say it: Node ends the connection behind it, with all that waits there. */
export function sayGoodbye(res: ServerResponse): void {
  const { socket } = res.req;
  takeBackGoodbye(socket);
  lastOn.set(socket, res);
  res.shouldKeepAlive = false;
}

/** Of a request that somebody has kept nobody knows which of the others came before it and which behind. */
export function sayGoodbyeLate(res: ServerResponse, isAlone: boolean): void {
  const { socket } = res.req;
  const last = lastOn.get(socket);
  if (last === res) return;
  if (isAlone && !last) sayGoodbye(res);
  // The connection will be closed when it is idle.
  else takeBackGoodbye(socket);
}

function takeBackGoodbye(socket: Socket): void {
  const last = lastOn.get(socket);
  if (last) last.shouldKeepAlive = true;
  lastOn.delete(socket);
}
