import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Happenings } from '@ambit/host-contract';

/** A proxy to a server that can stop forwarding, as if the machine of the server hung. */
export class HangingLine implements Disposable {
  readonly url: string;
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Set<Socket>();
  readonly #happenings = new Happenings();
  #hangs = false;

  private constructor(listener: Server, target: URL) {
    this.#listener = listener;
    const { hostname, port, protocol } = target;
    const usual = protocol === 'mariadb:' ? 3306 : 5432;
    listener.on('connection', (client) => this.#join(client, connect(Number(port || usual), hostname)));
    const own = new URL(target);
    own.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
    this.url = own.href;
  }

  static async to(url: string): Promise<HangingLine> {
    const listener = createServer();
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    return new HangingLine(listener, new URL(url));
  }

  hang(): void {
    this.#hangs = true;
  }

  /** Resolves when so many connections have sent something, or were opened, since it hangs. */
  waitedOnBy(connections: number): Promise<void> {
    return this.#happenings.until(() => this.#waiting.size >= connections, `${connections} connections wait`);
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket, server: Socket): void {
    // A client of MariaDB says nothing before its server does.
    if (this.#hangs) this.#waiting.add(client);
    const cut = (): void => void [client.destroy(), server.destroy()];
    for (const socket of [client, server]) this.#sockets.add(socket.on('error', cut).on('close', cut));
    this.#happenings.tell();
    server.on('data', (response) => this.#hangs || client.write(response));
    client.on('data', (question) => {
      if (this.#hangs) this.#waiting.add(client);
      else server.write(question);
      this.#happenings.tell();
    });
  }
}
