import type { IncomingMessage } from 'node:http';
import { answersTo } from './books.js';
import type { Client } from './client.js';
import type { Served } from './host.js';
import type { Life } from './run.js';
import { type Visit, visitOf } from './visit.js';
import { ignore } from './work.js';

/** The end of a server in the middle of a run: SIGTERM at any time. */
export class Closing {
  readonly #life: Life;
  readonly #served: Served;
  #begunAt = Infinity;
  #isOver = false;

  constructor(life: Life, served: Served) {
    this.#life = life;
    this.#served = served;
    // What a server does when it listens; only then does Node count its connections.
    served.server.emit('listening');
    served.server.on('request', (req: IncomingMessage) => (visitOf(req).hasArrived = true));
  }

  begin(): void {
    this.#life.later(() => void this.#close());
    for (const client of this.#life.clients) {
      this.#life.clock.setTimer(() => this.#expectNotIdle(client), 5000);
      // Not every host cuts those off who never leave.
      this.#life.clock.setTimer(() => client.leave(), 20_000);
    }
  }

  get hasBegun(): boolean {
    return this.#begunAt < Infinity;
  }

  /** The last response on a connection says that it is, and no other does; Node's own 400 says nothing, and is. */
  answers(visit: Visit, status: number, text: string, behind: readonly Visit[]): void {
    if (this.#life.clock.now() <= this.#begunAt || status === 400) return;
    const saysSo = /^connection: close\r$/im.test(text);
    const hasCompany = behind.some(({ scope, bringsScope }) => scope && !bringsScope);
    if (saysSo && hasCompany) visit.broke('the server closes, and its response turns away the requests behind it');
    const isAlone = !behind.some(({ hasArrived }) => hasArrived);
    if (!saysSo && isAlone) visit.broke('the server closes, and its response does not say so');
  }

  check(): void {
    if (!this.#isOver) this.#life.broke('the server does not end');
    if (!this.#life.ledger.isOver(this.#life.application)) this.#life.broke('the application is open');
  }

  /** By now, all that is going to be responded to has been. */
  #expectNotIdle({ socket }: Client): void {
    const sent = socket.visits.filter(({ isSent }) => isSent);
    const isIdle = sent.length === answersTo(socket).length && sent.every(({ comesWhole }) => comesWhole);
    if (socket.isConnected && isIdle && !socket.destroyed && !socket.isStuck)
      this.#life.broke('the server closes, and keeps an idle client');
  }

  async #close(): Promise<void> {
    const { application, clock } = this.#life;
    this.#begunAt = clock.now();
    this.#life.note('server', 'begins to close');
    await this.#served.close(application).catch(ignore);
    this.#isOver = true;
    this.#life.note('server', 'is closed');
  }
}
