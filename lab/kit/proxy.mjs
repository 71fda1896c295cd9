/**
 * A proxy between a client and a database that can cut the connection at the worst moment: when a transaction commits. It understands just
 * enough of the protocols of PostgreSQL and MariaDB to recognize such a statement and its result.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** @type {Buffer} */
const EMPTY = Buffer.alloc(0);

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
 * @typedef {object} Conversation what one client and its server say to each other
 * @property {(chunk: Buffer) => Iterable<Buffer>} messages whole ones of the client
 * @property {(message: Buffer) => string} carriedOutBy the text, if the message carries out a statement
 * @property {(chunk: Buffer) => void} [heard] from the server
 * @property {(received: Buffer) => 'committed' | 'open' | undefined} resultIn what the server has sent since; undefined: there has to come more
 */

/**
 * @param {{ port: number, host?: string }} server
 * @param {() => Fate} decide asked at every statement that commits
 * @param {RegExp} [committing] which those are: COMMIT, and perhaps an INSERT that is a transaction of its own
 * @param {new () => Conversation} [Protocol] of PostgreSQL, where it is not of MariaDB
 * @returns {Promise<Proxy>}
 */
export async function startProxy(
  { port, host = '127.0.0.1' },
  decide,
  committing = /^commit;?$/i,
  Protocol = PostgresConversation,
) {
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

    const conversation = new Protocol();
    /** @type {Buffer | undefined} what the server has sent since a statement whose result will be lost */
    let withheld;

    client.on('data', (chunk) => {
      for (const message of conversation.messages(chunk)) {
        const fate = committing.test(conversation.carriedOutBy(message)) ? decide() : undefined;
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
      conversation.heard?.(chunk);
      if (!withheld) {
        client.write(chunk);
        return;
      }
      withheld = Buffer.concat([withheld, chunk]);
      const result = conversation.resultIn(withheld);
      if (!result) return;
      if (result === 'committed') {
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

const PROTOCOL_3 = 196_608;
/** ReadyForQuery, with the state: idle, or in a transaction. */
const READY = 'Z\0\0\0\x05';
/** CommandComplete, with its length and what was done; and no transaction is open. */
const COMMITTED = /C\0\0\0.(?:COMMIT|INSERT \d+ \d+)\0Z\0\0\0.I/s;

/** A prepared statement comes with its text once, and then by its name as often as it is carried out. @implements {Conversation} */
export class PostgresConversation {
  #rest = EMPTY;
  /** The first messages have no type, until one starts the session. */
  #started = false;
  /** @type {Map<string, string>} */
  #prepared = new Map();

  /** @param {Buffer} chunk */
  *messages(chunk) {
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

  /** @param {Buffer} message */
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

  /** @param {Buffer} received @returns {ReturnType<Conversation['resultIn']>} */
  resultIn(received) {
    const text = received.toString('latin1');
    if (!text.includes(READY)) return undefined;
    return COMMITTED.test(text) ? 'committed' : 'open';
  }
}

/** Each packet has its length and its number in front. */
const HEAD = 4;
const QUERY = 0x03;
const PREPARE = 0x16;
const EXECUTE = 0x17;
const OK = 0x00;
/** The first byte of a number that has more than one: how many follow. @type {Readonly<Record<number, number>>} */
const FOLLOWING = { 0xfc: 2, 0xfd: 3, 0xfe: 8 };
const IN_TRANSACTION = 1;

/** A prepared statement gets a number from the server. @implements {Conversation} */
export class MariadbConversation {
  #rest = EMPTY;
  /** @type {Map<number, string>} */
  #prepared = new Map();
  /** The text of a statement whose number has not come yet. */
  #preparing = '';

  /** @param {Buffer} chunk */
  *messages(chunk) {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= HEAD) {
      const end = HEAD + this.#rest.readUIntLE(0, 3);
      if (this.#rest.length < end) return;
      const packet = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      yield packet;
    }
  }

  /** @param {Buffer} packet */
  carriedOutBy(packet) {
    // A command is the first packet of its exchange.
    if (packet[3] !== 0) return '';
    if (packet[HEAD] === EXECUTE) return this.#prepared.get(packet.readUInt32LE(HEAD + 1)) ?? '';
    const text = packet.toString('utf8', HEAD + 1);
    this.#preparing = packet[HEAD] === PREPARE ? text : '';
    return packet[HEAD] === QUERY ? text : '';
  }

  /** @param {Buffer} chunk */
  heard(chunk) {
    if (this.#preparing !== '' && chunk.length >= HEAD + 5 && chunk[HEAD] === OK)
      this.#prepared.set(chunk.readUInt32LE(HEAD + 1), this.#preparing);
    this.#preparing = '';
  }

  /** @param {Buffer} received @returns {ReturnType<Conversation['resultIn']>} */
  resultIn(received) {
    if (received.length < HEAD || received.length < HEAD + received.readUIntLE(0, 3)) return undefined;
    if (received[HEAD] !== OK) return 'open';
    // Behind the number of rows and the id of the last one.
    const rows = HEAD + 1;
    const id = rows + 1 + (FOLLOWING[received[rows] ?? 0] ?? 0);
    const status = received.readUInt16LE(id + 1 + (FOLLOWING[received[id] ?? 0] ?? 0));
    return (status & IN_TRANSACTION) === 0 ? 'committed' : 'open';
  }
}
