import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const HEAD_END = '\r\n\r\n';
/** @type {Buffer} */
const EMPTY = Buffer.alloc(0);

/** How long the system may take to tell us that the other end had closed before our bytes came. */
const CROSSING_MS = 10;
/** Whoever waits longer waits for ever. */
const PATIENCE_MS = 60_000;

/** The connection ended before the answer was complete. */
export class Lost extends Error {
  /** The server had read the request, and ended the connection in good order, but without an answer. */
  dropped = false;
  /** The server was there, and said nothing. */
  hung = false;
}

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} head as it came
 * @property {string} body
 */

/**
 * @param {Pick<Answer, 'head'>} answer
 * @param {string} name
 */
export function headerOf({ head }, name) {
  return new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim();
}

/**
 * The bytes of a request.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body] sent as JSON
 * @param {Record<string, string>} [headers]
 */
export function requestText(method, path, body, headers = {}) {
  const text = body === undefined ? '' : JSON.stringify(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  if (body !== undefined) {
    lines.push(`Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`);
  }
  return `${method} ${path} HTTP/1.1\r\nHost: trial\r\n${lines.join('')}\r\n${text}`;
}

/** One connection of a client that keeps it alive and knows exactly what it sent and what came back. */
export class Connection {
  /** @type {{ resolve: (answer: Answer) => void, reject: (error: Error) => void }[]} */
  #waiting = [];
  #rest = EMPTY;
  #lastAnswer = false;
  #hung = false;

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.socket = socket;
    socket.setTimeout(PATIENCE_MS, () => this.#loseHope());
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', (error) => this.#lose(error));
    socket.on('end', () => void this.#ended());
    socket.on('close', () => this.#lose(new Error('the connection was closed')));
  }

  /**
   * @param {string} url
   * @returns {Promise<Connection>} rejects with Lost when nobody listens there
   */
  static open(url) {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
      socket.once('connect', () => resolve(new Connection(socket)));
      socket.once('error', (error) => reject(new Lost('no connection', { cause: error })));
    });
  }

  get usable() {
    return this.socket.writable && !this.socket.readableEnded && !this.#lastAnswer;
  }

  /** How many requests were sent and not yet answered. */
  get waiting() {
    return this.#waiting.length;
  }

  /**
   * Sends a request, behind those under way if there are any. Rejects with Lost when no answer will come.
   * @param {string | Buffer} bytes
   * @param {() => void} [onFlushed] called when the system has taken the bytes
   * @returns {Promise<Answer>}
   */
  request(bytes, onFlushed) {
    if (!this.usable) return Promise.reject(new Lost('the connection is closed'));
    const answer = this.expectAnswer();
    this.socket.write(bytes, (error) => {
      if (!error) onFlushed?.();
    });
    return answer;
  }

  /**
   * For a request whose bytes are written by the caller.
   * @returns {Promise<Answer>}
   */
  expectAnswer() {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Leaves without a goodbye: the server sees a connection that ends, or one that was reset. */
  abort(reset = false) {
    if (reset) this.socket.resetAndDestroy();
    else this.socket.destroy();
  }

  close() {
    this.socket.destroy();
  }

  /** @param {Buffer} chunk */
  #read(chunk) {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const headEnd = this.#rest.indexOf(HEAD_END);
      if (headEnd < 0) return;
      const head = this.#rest.toString('latin1', 0, headEnd);
      const start = headEnd + HEAD_END.length;
      const length = /^content-length: *(\d+)/im.exec(head)?.[1];
      if (length === undefined) {
        this.socket.destroy(new Error(`an answer without Content-Length: ${head}`));
        return;
      }
      const end = start + Number(length);
      if (this.#rest.length < end) return;
      const body = this.#rest.toString('utf8', start, end);
      this.#rest = this.#rest.subarray(end);
      this.#lastAnswer ||= /^connection: *close/im.test(head);
      this.#waiting.shift()?.resolve({ status: Number(head.slice(9, 12)), head, body });
    }
  }

  #loseHope() {
    if (this.waiting === 0) return;
    this.#hung = true;
    this.socket.destroy(new Error(`no answer for ${PATIENCE_MS / 1000} s`));
  }

  /**
   * The server has said that it will send no more. If a request of ours crossed that, it was never read, and by now the
   * system has had a reset for it: then it takes no more bytes. If it takes them, the server had read the request.
   */
  async #ended() {
    if (this.waiting > 0) {
      await pause(CROSSING_MS);
      this.socket.write('\r\n', (error) => this.#lose(error ?? new Error('no answer'), !error));
    }
    this.socket.end();
  }

  /**
   * @param {Error} cause
   * @param {boolean} [dropped]
   */
  #lose(cause, dropped = false) {
    const lost = new Lost(cause.message, { cause });
    lost.dropped = dropped;
    lost.hung = this.#hung;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(lost);
  }
}
