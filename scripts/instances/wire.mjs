import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** A proxy to PostgreSQL that can cut the connection at the worst moment: after COMMIT, before its result arrives. */
export class Wire {
  #armed = false;
  /** @type {import('node:net').Server} */
  #server;

  /** @param {URL} database */
  constructor({ hostname, port }) {
    this.#server = createServer((near) => {
      const far = connect(Number(port || 5432), hostname);
      const sockets = [near, far];
      let cut = false;
      for (const socket of sockets)
        socket.on('error', () => undefined).on('close', () => sockets.forEach((each) => each.destroy()));
      near.on('data', (bytes) => {
        if (this.#armed && bytes.includes('COMMIT')) [this.#armed, cut] = [false, true];
        far.write(bytes);
      });
      far.on('data', (bytes) => (cut ? far.destroy() : near.write(bytes)));
    });
  }

  /** @returns {Promise<number>} the port to use instead of PostgreSQL's */
  async listen() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return /** @type {import('node:net').AddressInfo} */ (this.#server.address()).port;
  }

  cutNextCommit() {
    this.#armed = true;
  }

  close() {
    this.#server.close();
  }
}
