import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** @typedef {import('node:net').Socket} Socket */

/** A way from one machine to a port, which can be cut. */
export class Relay {
  #listener;
  /** The connections: of the client, and the one made for it. @type {Map<Socket, Socket>} */
  #connections = new Map();
  /** @type {'open' | 'silent' | 'reset'} */
  #state = 'open';

  /** @param {number} target */
  constructor(target) {
    this.#listener = createServer({ noDelay: true }, (client) => this.#accept(client, target));
  }

  /** @param {number} target port of this machine */
  static async open(target) {
    const relay = new Relay(target);
    relay.#listener.listen(0, '127.0.0.1');
    await once(relay.#listener, 'listening');
    return relay;
  }

  get port() {
    return /** @type {import('node:net').AddressInfo} */ (this.#listener.address()).port;
  }

  /** @param {'silent' | 'reset'} how as when packets are dropped, or as when a firewall refuses them */
  cut(how) {
    this.#state = how;
    for (const [client, server] of this.#connections) {
      if (how === 'reset') client.resetAndDestroy();
      hold(client);
      hold(server);
    }
  }

  /** As when the machine of the clients hangs: what is sent to it does not arrive. */
  freeze() {
    for (const server of this.#connections.values()) hold(server);
  }

  /** That machine goes on. What was sent to it arrives when it is sent again: with `restore()`. */
  thaw() {
    for (const [client, server] of this.#connections) if (server.readableLength === 0) forward(server, client);
  }

  restore() {
    this.#state = 'open';
    for (const [client, server] of this.#connections) {
      forward(client, server);
      forward(server, client);
    }
  }

  close() {
    for (const client of this.#connections.keys()) client.destroy();
    this.#listener.close();
  }

  /** @param {Socket} client @param {number} target */
  #accept(client, target) {
    if (this.#state === 'reset') {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true });
    this.#connections.set(client, server);
    for (const socket of [client, server]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#connections.delete(client);
        client.destroy();
        server.destroy();
      });
    }
    if (this.#state === 'silent') return;
    forward(client, server);
    forward(server, client);
  }
}

/** @param {Socket} socket */
function hold(socket) {
  socket.unpipe();
  socket.pause();
}

/** @param {Socket} from @param {Socket} to */
function forward(from, to) {
  from.unpipe(to).pipe(to);
}
