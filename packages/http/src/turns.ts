import type { Socket } from 'node:net';
import type { Load } from './load.js';
import { readOn } from './node-internals.js';

/** How much a client may send that is kept unparsed. Beyond that its connection is not read. */
const MOST_UNPARSED = 2_097_152;

type DataListener = (chunk: Buffer) => void;

/**
 * The requests of one connection that a client pipelines beyond the limit: they wait until an earlier one has finished.
 * Meanwhile the connection is read, because Node does not notice otherwise that a client leaves, but what
 * comes is kept as bytes and not parsed into requests, and its amount is limited: a client cannot fill our memory.
 */
export class Turns {
  readonly #socket: Socket;
  #waiting: (() => void)[] = [];
  /** While what comes is kept: the listeners that will get it. */
  #parsers: DataListener[] | undefined = undefined;
  #hasKept = false;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** No more is read. */
  #isFull = false;
  #load: Load | undefined = undefined;
  #isScheduled = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Whether a request waits, so that no other may begin before it. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** Calls `begin` when it is its turn, unless the connection closes before. */
  wait(load: Load, begin: () => void): void {
    this.#waiting.push(begin);
    this.#load = load;
    // No further chunk of those that were kept.
    if (this.#hasKept && !this.#parsers) this.#socket.pause();
    this.#schedule();
  }

  /** Who begins now that another request has finished. */
  next(): (() => void) | undefined {
    if (this.#socket.destroyed) this.#waiting = [];
    const begin = this.#waiting.shift();
    // Only the newest request can lack a part of its body, and none waits behind it.
    if (this.#waiting.length === 0) this.#schedule();
    return begin;
  }

  /** Not while a chunk is being parsed, which may contain CONNECT or garbage at its end. */
  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length > 0 === (this.#parsers !== undefined)) return;
    this.#isScheduled = true;
    // What was kept is parsed a chunk at a time, and other connections have their turn in between.
    if (this.#parsers) setImmediate(this.#adjust);
    else process.nextTick(this.#adjust);
  }

  readonly #adjust = (): void => {
    this.#isScheduled = false;
    if (this.#socket.destroyed) this.#waiting = [];
    else if (this.#waiting.length > 0) this.#beginToKeep();
    else if (this.#parsers) this.#parseOn(this.#parsers);
    else this.#socket.resume();
  };

  #beginToKeep(): void {
    if (this.#parsers) return;
    this.#hasKept = true;
    const socket = this.#socket;
    this.#parsers = socket.listeners('data') as DataListener[];
    socket.on('data', this.#keep);
    for (const parser of this.#parsers) socket.off('data', parser);
    socket.on('resume', this.#pauseIfFull);
    socket.once('close', this.#drop);
    socket.resume();
    readOn(socket);
  }

  readonly #keep = (chunk: Buffer): void => {
    if (this.#load?.keep(chunk.length)) this.#keptBytes += chunk.length;
    else this.#isFull = true;
    this.#kept.push(chunk);
    if (this.#keptBytes >= MOST_UNPARSED) this.#isFull = true;
    this.#pauseIfFull();
  };

  /** Node resumes a socket whenever a body is read. */
  readonly #pauseIfFull = (): void => {
    if (this.#isFull) this.#socket.pause();
  };

  readonly #drop = (): void => {
    this.#load?.release(this.#keptBytes);
    this.#kept = [];
    this.#keptBytes = 0;
    this.#isFull = false;
  };

  #parseOn(parsers: DataListener[]): void {
    const socket = this.#socket;
    socket.pause();
    this.#parsers = undefined;
    socket.off('resume', this.#pauseIfFull);
    socket.off('close', this.#drop);
    for (const parser of parsers) socket.on('data', parser);
    socket.off('data', this.#keep);
    // Back into the socket: it emits them one at a time, and stops when it is paused.
    if (!socket.readableEnded) for (const chunk of this.#kept.toReversed()) socket.unshift(chunk);
    this.#drop();
    socket.resume();
  }
}
