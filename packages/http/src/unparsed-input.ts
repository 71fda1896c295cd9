import { Socket } from 'node:net';
import type { Load } from './load.js';
import { readOn, speaksHttp } from './node-internals.js';

/** How much a client may send that is kept unparsed. Beyond that its connection is not read. */
const MOST_UNPARSED = 2_097_152;

type DataListener = (chunk: Buffer) => void;

/**
 * Stands between a socket and Node's parser, from the moment a client has pipelined more requests than may be in progress.
 *
 * The socket is read all the time, because Node does not notice otherwise that a client leaves. The parser gets the bytes later: when no
 * request waits for its turn, and when Node has not called `pause()` on the socket, as it does while too many bytes of responses or
 * of a body wait for their reader. Node asserts that no data comes until it calls `resume()` itself. So both methods of this socket are
 * replaced: they hold back the parser instead of the network. What is kept is limited: a client cannot fill our memory.
 */
export class UnparsedInput {
  readonly #socket: Socket;
  readonly #load: Load;
  readonly #isHeld: () => boolean;
  readonly #parser: DataListener | undefined;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** Node has called `pause()`. */
  #isPaused: boolean;
  /** No more is read from the network. */
  #isFull = false;
  #isScheduled = false;

  /**
   * @param socket - speaks HTTP/1
   * @param load - limits what is kept on all connections together, and shares out the time for parsing it
   * @param isHeld - whether the parser may get nothing now; call `parseOn()` when that may have changed
   */
  constructor(socket: Socket, load: Load, isHeld: () => boolean) {
    this.#socket = socket;
    this.#load = load;
    this.#isHeld = isHeld;
    this.#isPaused = socket.isPaused();
    // Node's own is the first. Those of the application see the bytes when they come.
    [this.#parser] = socket.listeners('data') as DataListener[];
    socket.on('data', this.#receive);
    if (this.#parser) socket.off('data', this.#parser);
    socket.pause = () => {
      this.#isPaused = true;
      return socket;
    };
    socket.resume = () => {
      this.#isPaused = false;
      this.parseOn();
      return this.#read();
    };
    this.#read();
    readOn(socket);
  }

  /** Gives the parser what is kept, a chunk at a time, as soon as it may get it. */
  parseOn(): void {
    if (this.#isScheduled || this.#kept.length === 0 || !this.#mayParse) return;
    this.#isScheduled = true;
    this.#load.soon(this.#parseNext);
  }

  /** The connection no longer speaks HTTP: what is kept belongs to the new protocol. */
  leave(): void {
    const socket = this.#socket;
    const rest = this.#kept;
    this.drop();
    socket.off('data', this.#receive);
    Reflect.deleteProperty(socket, 'pause');
    Reflect.deleteProperty(socket, 'resume');
    if (rest.length > 0 && !socket.readableEnded) socket.unshift(Buffer.concat(rest));
  }

  /** The connection has closed. */
  drop(): void {
    this.#load.release(this.#keptBytes);
    this.#kept = [];
    this.#keptBytes = 0;
  }

  get #mayParse(): boolean {
    return !this.#isPaused && !this.#isHeld();
  }

  readonly #receive = (chunk: Buffer): void => {
    if (this.#kept.length === 0 && this.#mayParse) return this.#parse(chunk);
    this.#kept.push(chunk);
    this.#keptBytes += chunk.length;
    const hasRoom = this.#load.keep(chunk.length) && this.#keptBytes < MOST_UNPARSED;
    if (hasRoom) return undefined;
    this.#isFull = true;
    Socket.prototype.pause.call(this.#socket);
    return undefined;
  };

  readonly #parseNext = (): void => {
    this.#isScheduled = false;
    if (!this.#mayParse) return;
    const chunk = this.#kept.shift();
    if (!chunk) return;
    this.#keptBytes -= chunk.length;
    this.#load.release(chunk.length);
    this.#isFull = false;
    this.#read();
    this.#parse(chunk);
    this.parseOn();
  };

  #parse(chunk: Buffer): void {
    this.#parser?.call(this.#socket, chunk);
    if (!speaksHttp(this.#socket)) this.leave();
  }

  #read(): Socket {
    return this.#isFull ? this.#socket : Socket.prototype.resume.call(this.#socket);
  }
}
