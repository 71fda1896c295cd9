import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Listens, and resolves with the port. */
export async function listening(server: Server, port = 0): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** A port on which nobody listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  await once(server.close(), 'close');
  return port;
}

/** Resolves when something accepts connections there, for a program that cannot report it. */
export async function accepting(port: number): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const [connected] = await Promise.race([once(socket, 'connect').then(() => [true]), once(socket, 'close')]).catch(
      () => [false],
    );
    socket.destroy();
    if (connected === true) return;
    if (Date.now() > deadline) throw new Error(`Nothing accepts connections on port ${port}`);
    await nextTurn();
  }
}
