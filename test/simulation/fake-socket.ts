import { SimulatedSocket } from '@ambit/test-kit';
import { checkAcknowledged } from './moments.js';
import type { Run } from './run.js';
import type { Visit } from './visit.js';

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
