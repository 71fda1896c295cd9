import type { NamesTable } from './names-table.js';
import type { RequestSummary } from './wire.js';

type Sums = Pick<RequestSummary, 'alike' | 'keys' | 'statementMs' | 'statements' | 'texts' | 'waited'>;

/** What a request sent and created, added up; it counts also what is beyond the steps that are kept. */
export class RequestSums {
  readonly #names: NamesTable;
  readonly #sent = new Map<number, number>();
  readonly #keys = new Set<number>();
  #statements = 0;
  #statementMs = 0;
  #waited = 0;

  constructor(names: NamesTable) {
    this.#names = names;
  }

  created(key: string): void {
    this.#keys.add(this.#names.indexOf(key));
  }

  statement(sql: string, milliseconds: number): void {
    const text = this.#names.indexOf(sql);
    this.#sent.set(text, (this.#sent.get(text) ?? 0) + 1);
    this.#statements++;
    this.#statementMs += milliseconds;
  }

  waited(milliseconds: number): void {
    this.#waited += milliseconds;
  }

  toJSON(): Sums {
    return {
      statements: this.#statements,
      statementMs: this.#statementMs,
      alike: Math.max(0, ...this.#sent.values()),
      waited: this.#waited,
      texts: [...this.#sent.keys()],
      keys: [...this.#keys],
    };
  }
}
