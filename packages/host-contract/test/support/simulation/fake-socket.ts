import { Duplex } from 'node:stream';
import type { Run } from './run.js';
import { checkAcknowledged } from './moments.js';
import type { Visit } from './visit.js';

const STATUS = /^HTTP\/1\.1 (\d+)/;

/** What the server holds for a connection: no network behind it, and whatever can go wrong with one. */
export class FakeSocket extends Duplex {
  readonly visits: Visit[] = [];
  /** Hosts ask whether anything came yet. */
  bytesRead = 0;
  /** All that the client heard. */
  heard = '';
  /** The client has stopped reading, so nothing more will be flushed. */
  isStuck = false;
  isConnected = false;
  /** The client has left, or the network failed it. */
  hasLeft = false;
  /** Everybody who listens for the end has heard of it. */
  isDisconnected = false;
  readonly #run: Run;
  #responses = 0;
  #noMoreArrives = false;

  constructor(run: Run) {
    // So few bytes that a head alone is back-pressure, or as many as a real one has.
    super({ decodeStrings: false, writableHighWaterMark: run.chance.pick([100, 1000, 16_384]) });
    this.#run = run;
    this.on('close', () => queueMicrotask(() => (this.isDisconnected = true)));
    // Every run has errors on its sockets, and the server takes no more of them once it has let go of one.
    this.on('error', () => undefined);
  }

  /** Bytes from the client. */
  arrive(text: string): void {
    if (this.destroyed || this.#noMoreArrives) return;
    this.#run.note('client', `sends ${text.replaceAll('\r\n', '|')}`);
    this.bytesRead += text.length;
    this.push(text);
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

  override _write(chunk: Uint8Array | string, _encoding: string, done: (error?: Error) => void): void {
    this.#hear(String(chunk));
    const { chance, calm, clock, slowReaders } = this.#run;
    if (slowReaders && chance.of(0.5)) return void clock.setTimer(done, chance.below(100));
    if (calm || chance.of(0.85)) return done();
    if (chance.of(0.75)) clock.setTimer(done, chance.below(50));
    else if (chance.of(0.5)) this.isStuck = true;
    else {
      this.hasLeft = true;
      done(new Error('EPIPE'));
    }
  }

  /** Like a real one, it often reports its end only a while after. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#run.note('socket', 'is destroyed');
    if (this.#run.chance.of(0.5)) done(error);
    else this.#run.later(() => done(error));
  }

  #hear(text: string): void {
    this.heard += text;
    const status = Number(STATUS.exec(text)?.[1]);
    if (!status) return;
    this.#run.note('client', `hears ${status}`);
    const visit = this.visits[this.#responses];
    this.#responses += 1;
    // The responses behind the first one may have been made before, and kept until their turn came.
    if (visit?.scope && !visit.bringsScope && this.#responses === 1) {
      this.#run.closing?.responds(visit, status, text, this.visits.slice(1));
    }
    if (visit) checkAcknowledged(visit, status);
    // To a body that is cut off after its response, Node itself responds 400.
    else if (status !== 400) this.#run.broke('a client heard more responses than it has sent requests');
  }
}
