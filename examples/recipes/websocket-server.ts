// WebSockets with ws: a scope per connection, and below it one per message, each with a transaction of its own.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Container } from '@ambit/container';
import { drainScopes, inScope } from '@ambit/container/work';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { createApp, pay, type Payment } from './payments.ts';
import { isProgram, onStopSignal } from './program.ts';

// So long a client may take to close its side, before its connection is cut.
const CLOSE_TIMEOUT_MS = 1000;

export class PaymentSockets {
  readonly server: WebSocketServer;
  readonly #app: Container;
  /** Called at shutdown, one for each connection. */
  readonly #leave = new Set<() => void>();

  constructor(app: Container, port: number) {
    this.#app = app;
    this.server = new WebSocketServer({ port });
    this.server.on('connection', (socket, { url }) => {
      this.#handleConnection(socket, url).catch((error: unknown) => {
        console.error(error);
        socket.terminate();
      });
    });
  }

  async #handleConnection(socket: WebSocket, url: string | undefined): Promise<void> {
    socket.on('error', console.error);
    const closed = new AbortController();
    // Work that only this client waits for is cancelled. Leave that out, and it is done all the same.
    socket.once('close', () => closed.abort(new Error('The client disconnected')));
    await inScope(this.#app, { tags: ['connection'] }, async (connection) => {
      // Here and not as an option of inScope: that would be awaited, and the first message might arrive meanwhile.
      connection.register('IOperationId', () => `connection to ${url}`);
      // Messages run beside each other. To run them one after another, await each before the next.
      socket.on('message', (data) => void this.#handleMessage(connection, socket, data, closed.signal));
      await this.#isOver(socket);
      // What inScope(connection, ...) began is awaited now, before the connection's scope is disposed.
    });
    // 1001: going away.
    socket.close(1001);
  }

  /** Nothing is retried: the client gets the error, and may send the message again. */
  async #handleMessage(connection: Container, socket: WebSocket, data: RawData, signal: AbortSignal): Promise<void> {
    try {
      await inScope(connection, { tags: ['message'], signal }, (message, anyAbort) =>
        pay(message, JSON.parse((data as Buffer).toString()) as Payment, anyAbort),
      );
      socket.send(JSON.stringify({ paid: true }));
    } catch (error) {
      socket.send(JSON.stringify({ error: (error as Error).message }), () => undefined);
    }
  }

  /** Resolves when the client has left, or the server shuts down. */
  async #isOver(socket: WebSocket): Promise<void> {
    let leave!: () => void;
    const over = new Promise<void>((resolve) => (leave = resolve));
    this.#leave.add(leave);
    socket.once('close', leave);
    await over;
    this.#leave.delete(leave);
  }

  async stop(timeoutMs = 10_000): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const leave of this.#leave) leave();
    await drainScopes(this.#app, { timeoutMs });
    const cutting = setTimeout(() => {
      for (const socket of this.server.clients) socket.terminate();
    }, CLOSE_TIMEOUT_MS);
    await closed;
    clearTimeout(cutting);
    await this.#app.dispose();
  }
}

if (isProgram(import.meta.filename)) {
  const app = createApp();
  await app.start();
  const sockets = new PaymentSockets(app, Number(process.env['PORT'] ?? 3000));
  onStopSignal(() => sockets.stop());
  await once(sockets.server, 'listening');
  console.log(`Listening on port ${(sockets.server.address() as AddressInfo).port}`);
}
