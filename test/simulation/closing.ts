import type { IncomingMessage } from 'node:http';
import { responsesTo } from './books.js';
import type { Client } from './client.js';
import type { Served } from './host.js';
import type { Run } from './run.js';
import { type Visit, visitOf } from './visit.js';
import { ignore } from './work.js';

/** The end of a server in the middle of a run: SIGTERM at any time. */
export class Closing {
  readonly #run: Run;
  readonly #served: Served;
  #begunAt = Infinity;
  #isOver = false;

  constructor(run: Run, served: Served) {
    this.#run = run;
    this.#served = served;
    // What a server does when it listens; only then does Node count its connections.
    served.server.emit('listening');
    served.server.on('request', (req: IncomingMessage) => (visitOf(req).hasArrived = true));
  }

  begin(): void {
    this.#run.later(() => void this.#close());
    for (const client of this.#run.clients) {
      this.#run.clock.setTimer(() => this.#expectNotIdle(client), 5000);
      // Not every host cuts those off who never leave.
      this.#run.clock.setTimer(() => client.leave(), 20_000);
    }
  }

  get hasBegun(): boolean {
    return this.#begunAt < Infinity;
  }

  /** The last response on a connection says that it is, and no other does; Node's own 400 says nothing, and is. */
  responds(visit: Visit, status: number, text: string, behind: readonly Visit[]): void {
    if (this.#run.clock.now() <= this.#begunAt || status === 400) return;
    const saysSo = /^connection: close\r$/im.test(text);
    const hasCompany = behind.some(({ scope, bringsScope }) => scope && !bringsScope);
    if (saysSo && hasCompany) visit.broke('the server closes, and its response turns away the requests behind it');
    const isAlone = !behind.some(({ hasArrived }) => hasArrived);
    if (!saysSo && isAlone) visit.broke('the server closes, and its response does not say so');
  }

  check(): void {
    if (!this.#isOver) this.#run.broke('the server does not end');
    if (!this.#run.ledger.isOver(this.#run.application)) this.#run.broke('the application is open');
  }

  /** By now, all that is going to be responded to has been. */
  #expectNotIdle({ socket }: Client): void {
    const sent = socket.visits.filter(({ isSent }) => isSent);
    const isIdle = sent.length === responsesTo(socket).length && sent.every(({ comesWhole }) => comesWhole);
    if (socket.isConnected && isIdle && !socket.destroyed && !socket.isStuck)
      this.#run.broke('the server closes, and keeps an idle client');
  }

  async #close(): Promise<void> {
    const { application, clock } = this.#run;
    this.#begunAt = clock.now();
    this.#run.note('server', 'begins to close');
    await this.#served.close(application).catch(ignore);
    this.#isOver = true;
    this.#run.note('server', 'is closed');
  }
}
