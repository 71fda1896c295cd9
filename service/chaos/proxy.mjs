/**
 * A proxy between a client and PostgreSQL that can cut the connection at the worst moment: when a transaction commits.
 * It understands just enough of the protocol to recognize such a statement and its result.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

const PROTOCOL_3 = 196_608;
/** @type {Buffer} */
const EMPTY = Buffer.alloc(0);
/** ReadyForQuery, with the state: idle, or in a transaction. */
const READY = 'Z\0\0\0\x05';
/** CommandComplete, with its length and what was done; and no transaction is open. */
const COMMITTED = /C\0\0\0.(?:COMMIT|INSERT \d+ \d+)\0Z\0\0\0.I/s;

/**
 * What to do with a statement that commits: forward it; cut the connection before it reaches the server; or cut the
 * connection after the server has carried it out, before the result reaches the client.
 * @typedef {'pass' | 'before' | 'after'} Fate
 */

/**
 * @typedef {object} Proxy
 * @property {number} port
 * @property {Readonly<Record<Fate, number>>} commits how many met which fate
 * @property {() => Promise<void>} close
 */

/**
 * @param {{ port: number, host?: string }} server
 * @param {() => Fate} decide asked at every statement that commits
 * @param {RegExp} [committing] which those are: COMMIT, and perhaps an INSERT that is a transaction of its own
 * @returns {Promise<Proxy>}
 */
export async function startProxy({ port, host = '127.0.0.1' }, decide, committing = /^commit;?$/i) {
  const commits = { pass: 0, before: 0, after: 0 };
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set();

  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ port, host, noDelay: true });
    const cut = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      const other = socket === client ? server : client;
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroySoon();
      });
    }

    const incoming = new ClientMessages();
    const statements = new Statements();
    /** @type {Buffer | undefined} what the server has sent since a statement whose result will be lost */
    let withheld;

    client.on('data', (chunk) => {
      for (const message of incoming.add(chunk)) {
        const fate = committing.test(statements.carriedOutBy(message)) ? decide() : undefined;
        if (fate === 'before') {
          commits.before++;
          // The server still receives what was sent before.
          server.end();
          client.destroy();
          return;
        }
        if (fate === 'pass') commits.pass++;
        if (fate === 'after') withheld = EMPTY;
        server.write(message);
      }
    });
    server.on('data', (chunk) => {
      if (!withheld) {
        client.write(chunk);
        return;
      }
      withheld = Buffer.concat([withheld, chunk]);
      const received = withheld.toString('latin1');
      if (!received.includes(READY)) return;
      if (COMMITTED.test(received)) {
        commits.after++;
        cut();
        return;
      }
      // The statement was refused, or is part of a transaction: there is no result to lose.
      commits.pass++;
      client.write(withheld);
      withheld = undefined;
    });
  });

  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (listener.address());
  return {
    port: address.port,
    commits,
    close: async () => {
      listener.close();
      for (const socket of sockets) socket.destroy();
      await once(listener, 'close');
    },
  };
}

/** The statements of one client. A prepared one comes with its text once, and then by its name as often as it is carried out. */
class Statements {
  /** @type {Map<string, string>} */
  #prepared = new Map();

  /**
   * The text, if the message carries out a statement.
   * @param {Buffer} message
   */
  carriedOutBy(message) {
    const [first = '', second = ''] = message.toString('latin1', 5).split('\0', 2);
    switch (String.fromCharCode(message[0] ?? 0)) {
      case 'Q':
        return first;
      case 'P':
        this.#prepared.set(first, second);
        return '';
      // To a portal, whose name comes first.
      case 'B':
        return this.#prepared.get(second) ?? '';
      default:
        return '';
    }
  }
}

/** Takes apart what a client sends: first messages without a type, until one starts the session; then all have one. */
class ClientMessages {
  #rest = EMPTY;
  #started = false;

  /** @param {Buffer} chunk */
  *add(chunk) {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const typeLength = this.#started ? 1 : 0;
      if (this.#rest.length < typeLength + 4) return;
      const end = typeLength + this.#rest.readInt32BE(typeLength);
      if (this.#rest.length < end) return;
      const message = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      this.#started ||= message.readInt32BE(4) === PROTOCOL_3;
      yield message;
    }
  }
}
