import type { Server } from 'node:http';
import { SimulatedSocket } from '@ambit/test-kit';
import { checkAcknowledged } from './moments.js';
import type { Run } from './run.js';
import { Visit } from './visit.js';

const STATUS = /^HTTP\/1\.1 (\d+)/;

/** The connection of a client, and what the client has asked for on it. */
export class FakeSocket extends SimulatedSocket {
  readonly visits: Visit[] = [];
  /** All that the client heard. */
  heard = '';
  readonly #run: Run;
  #responses = 0;

  constructor(run: Run) {
    super(run, (bytes) => this.#hear(bytes.toString('latin1')));
    this.#run = run;
  }

  /** Bytes from the client. */
  override arrive(text: string): void {
    this.#run.note('client', `sends ${text.replaceAll('\r\n', '|')}`);
    super.arrive(text);
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

/** One connection, a few requests on it, and perhaps an early end. */
export class Client {
  readonly socket: FakeSocket;
  readonly #run: Run;
  readonly #server: Server;
  #sentAt = 0;

  constructor(run: Run, server: Server, firstMark: number) {
    this.#run = run;
    this.#server = server;
    this.socket = new FakeSocket(run);
    const few = run.pipelines ? run.chance.pick([1, 1, 1, 1, 1, 1, 2, 2, 3]) : 1;
    const visits = run.floods ? 4 + run.chance.below(12) : few;
    for (let i = 0; i < visits; i += 1) this.socket.visits.push(new Visit(run, this.socket, `m${firstMark + i}`));
  }

  /** Comes, sends what it has to send, in one piece or in several, and may leave before its response. */
  come(): void {
    if (this.socket.hasLeft) return;
    const { chance, calm } = this.#run;
    this.socket.connect(this.#server, this.#run.closing !== undefined);
    let together = '';
    for (const [index, visit] of this.socket.visits.entries()) {
      const text = textOf(visit, index);
      visit.isSent = true;
      together += visit.comesWhole ? text : text.slice(0, -1 - chance.below(12));
      // What is cut off is the last that comes.
      const isLast = !visit.comesWhole || index === this.socket.visits.length - 1;
      if (isLast || chance.of(0.4)) {
        this.#send(together);
        together = '';
      }
      if (isLast) break;
    }
    if (!calm && chance.of(0.3)) this.#run.later(() => this.leave());
  }

  /** Early or late, politely or not. */
  leave(): void {
    const manner = this.#run.chance.pick(['leaves', 'crashes', 'says that it is done'] as const);
    this.#run.note('client', manner);
    this.socket.hasLeft = true;
    if (manner === 'says that it is done') this.socket.noMoreArrives();
    else this.socket.destroy(manner === 'crashes' ? new Error('ECONNRESET') : undefined);
  }

  /** Now or after a while, but never before what was sent earlier. */
  #send(text: string): void {
    const { chance, clock } = this.#run;
    if (this.#sentAt === 0 && chance.of(0.5)) return this.socket.arrive(text);
    this.#sentAt += 1 + chance.below(200);
    clock.setTimer(() => this.socket.arrive(text), this.#sentAt);
  }
}

function textOf(visit: Visit, index: number): string {
  const path = `${visit.isBare ? '/bare' : ''}/${visit.inTransaction ? 'orders' : 'plain'}`;
  const hasBody = !visit.comesWhole || visit.run.chance.of(0.25);
  const body = hasBody ? '{"items":[1,2,3]}' : '';
  const type = hasBody ? 'content-type: application/json\r\n' : '';
  return `POST ${path} HTTP/1.1\r\nhost: test\r\nvisit: ${index}\r\n${type}content-length: ${body.length}\r\n\r\n${body}`;
}
