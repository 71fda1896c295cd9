import { failure } from './names.js';
import { withoutValues } from './sql-text.js';
import { StatementTable } from './statement-table.js';
import type { Trail } from './trail.js';
import { Where } from './where.js';

export interface CompletedStatement {
  readonly sql: string;
  readonly milliseconds: number;
  readonly error?: unknown;
  /** What the call was announced by. */
  readonly statement?: object;
}

/** Records each statement, where the code sent it, and how long it took. */
export class StatementRecorder {
  readonly table = new StatementTable();
  readonly #trail: Trail;
  readonly #places = new WeakMap<object, Where>();

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  /** Called within the call that sends the statement. */
  sent(statement: object): void {
    this.#places.set(statement, new Where());
  }

  inTransaction(scope: object, completed: CompletedStatement): void {
    if (this.#trail.entryOf(scope)) this.#add(scope, completed, {});
  }

  outside(completed: CompletedStatement): void {
    this.#add(undefined, completed, { outside: true });
  }

  #add(scope: object | undefined, completed: CompletedStatement, more: { readonly outside?: true }): void {
    const { sql, milliseconds: took, error, statement } = completed;
    const text = withoutValues(sql);
    const place = statement && this.#places.get(statement);
    const entry = scope && this.#trail.entryOf(scope);
    const request = this.#trail.step(entry, 'statement', { sql: text, took, ...more, ...failure(error), place });
    this.table.add({ sql: text, took, failed: error !== undefined, place, route: request?.name, ...more });
  }
}
