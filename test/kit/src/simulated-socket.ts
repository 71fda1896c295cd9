import { channel } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { Duplex } from 'node:stream';
import type { Clock } from '@ambit/transaction';
import type { Chance } from './simulation.js';

/** What becomes of bytes for a client: it takes them after so many milliseconds, or no more of them, or the line is broken. */
export type Flush = number | 'stuck' | 'broken';

/** What a simulated connection takes from the run that it is part of. */
export interface SimulatedNetwork {
  readonly chance: Chance;
  readonly clock: Clock;
  flush(): Flush;
  note(who: string, what: string): void;
  /** After a while. */
  later(fn: () => void): void;
}

/** Node publishes every connection that a server accepts. */
const accepted = channel('net.server.socket');

/** What Node's sockets do for the server that accepted them. */
interface CountingServer extends Server {
  _connections: number;
  _emitCloseIfDrained(): void;
}

/** What the server holds for a connection: no network behind it, and whatever can go wrong with one. */
export class SimulatedSocket extends Duplex {
  /** Hosts ask whether anything came yet. */
  bytesRead = 0;
  /** The client has stopped reading, so nothing more will be flushed. */
  isStuck = false;
  isConnected = false;
  /** The client has left, or the network failed it. */
  hasLeft = false;
  /** Everybody who listens for the end has heard of it. */
  isDisconnected = false;
  readonly #network: SimulatedNetwork;
  readonly #hear: (bytes: Buffer) => void;
  #noMoreArrives = false;

  /** @param hear - is called with what the server has sent */
  constructor(network: SimulatedNetwork, hear: (bytes: Buffer) => void) {
    // So few bytes that a head alone is back-pressure, or as many as a real one has.
    super({ writableHighWaterMark: network.chance.pick([100, 1000, 16_384]) });
    this.#network = network;
    this.#hear = hear;
    this.on('close', () => queueMicrotask(() => (this.isDisconnected = true)));
    // Every run has errors on its sockets, and the server takes no more of them once it has let go of one.
    this.on('error', () => undefined);
  }

  /** @param counts - a server that closes waits until its last connection is closed; Node counts them once it listens */
  connect(server: Server, counts: boolean): void {
    this.isConnected = true;
    if (counts) this.#count(server as CountingServer);
    server.emit('connection', this);
    accepted.publish({ socket: this });
  }

  /** Bytes from the client. */
  arrive(bytes: string): void {
    if (this.destroyed || this.#noMoreArrives) return;
    this.bytesRead += bytes.length;
    this.push(bytes);
  }

  /** The client has sent all it wanted to send, and waits for what it is owed. */
  noMoreArrives(): void {
    if (this.destroyed || this.#noMoreArrives) return;
    this.#noMoreArrives = true;
    this.push(null);
  }

  override _read(): void {
    // Nobody waits for it: the client sends when it likes.
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#hear(chunk);
    const flush = this.#network.flush();
    if (flush === 0) done();
    else if (flush === 'stuck') this.isStuck = true;
    else if (flush === 'broken') {
      this.hasLeft = true;
      done(new Error('EPIPE'));
    } else this.#network.clock.setTimer(done, flush);
  }

  /** Like a real one, it often reports its end only a while after. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#network.note('socket', 'is destroyed');
    if (this.#network.chance.of(0.5)) done(error);
    else this.#network.later(() => done(error));
  }

  #count(server: CountingServer): void {
    server._connections += 1;
    this.on('close', () => {
      server._connections -= 1;
      server._emitCloseIfDrained();
    });
  }
}
