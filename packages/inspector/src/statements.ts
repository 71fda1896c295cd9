import { sqlStateOf } from '@ambit/transaction';
import { withoutLiterals } from '@ambit/transaction/host';
import { failure } from './error-names.js';
import type { Holders } from './holders.js';
import type { Awaited, RequestRecord, StepDetails } from './requests.js';
import { StatementTable } from './tables.js';
import type { Trail } from './trail.js';
import { LONG_WAIT_MS } from './signs.js';
import { Where } from './where.js';
import type { HeldBy } from './wire.js';

const LONGEST_SQL = 2000;
const MOST_TEXTS = 1000;
/** The SQLSTATEs of who could not have a lock. */
const LOCKED: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);

export interface CompletedStatement {
  readonly sql: string;
  readonly milliseconds: number;
  readonly error?: unknown;
  /** The message that announced the call. */
  readonly statement?: object;
}

/** Records each statement, where the code sent it, and how long it took. */
export class StatementRecorder {
  readonly table = new StatementTable();
  readonly #trail: Trail;
  readonly #holders: Holders;
  readonly #sent = new WeakMap<object, Awaited & { readonly request: RequestRecord | undefined }>();
  readonly #texts = new Map<string, string>();

  constructor(trail: Trail, holders: Holders) {
    this.#trail = trail;
    this.#holders = holders;
  }

  /** Called within the call that sends the statement. */
  sent(statement: object): void {
    const sent = { place: new Where(), started: this.#trail.now(), request: this.#trail.current() };
    this.#sent.set(statement, sent);
    sent.request?.begins(sent);
  }

  inTransaction(scope: object, completed: CompletedStatement): void {
    const { error, statement } = completed;
    // Its scope is closed: the statement came too late.
    if (!this.#trail.entryOf(scope)) return error === undefined ? undefined : this.#add(undefined, completed);
    const sql = this.#textOf(completed.sql);
    const heldBy = this.#waitedFor(scope, sql, completed);
    const times = { now: this.#trail.now(), took: completed.milliseconds };
    if (error === undefined) this.#holders.statement(scope, sql, statement && this.#sent.get(statement)?.place, times);
    this.#add(scope, completed, heldBy && { heldBy });
  }

  /** A statement that never takes less has not waited, and neither has one whose result came while the process was busy. */
  #waitedFor(scope: object, sql: string, { milliseconds, error }: CompletedStatement): HeldBy | undefined {
    const now = this.#trail.now();
    const isConflict = error !== undefined && LOCKED.has(sqlStateOf(error) ?? '');
    if (!isConflict) {
      const late = this.#trail.lateness.within(now - milliseconds, now);
      const longer = milliseconds - Math.max(late, this.table.shortestOf(sql));
      if (milliseconds < LONG_WAIT_MS || longer < LONG_WAIT_MS / 2) return undefined;
    }
    const held = this.#holders.ofLock(scope, sql, now - milliseconds, now);
    return isConflict || held?.ended ? held : undefined;
  }

  /** Most statements are sent again and again: one string of each is kept. */
  #textOf(sql: string): string {
    const known = this.#texts.get(sql);
    if (known !== undefined) return known;
    const text = withoutValues(sql);
    const shared = this.#texts.get(text) ?? text;
    if (this.#texts.size >= MOST_TEXTS) this.#texts.clear();
    this.#texts.set(shared, shared);
    if (sql.length <= LONGEST_SQL) this.#texts.set(sql, shared);
    return shared;
  }

  outside(completed: CompletedStatement): void {
    this.#holders.returned(this.#trail.now());
    this.#add(undefined, completed, { outside: true });
  }

  #add(
    scope: object | undefined,
    completed: CompletedStatement,
    more: Pick<StepDetails, 'heldBy' | 'outside'> = {},
  ): void {
    const { sql, milliseconds: took, error, statement } = completed;
    const text = this.#textOf(sql);
    const sent = statement && this.#sent.get(statement);
    const place = sent?.place;
    if (sent) sent.request?.ends(sent);
    const entry = scope && this.#trail.entryOf(scope);
    const request = this.#trail.step(entry, 'statement', { sql: text, took, ...more, ...failure(error), place });
    if (error !== undefined) request?.account(error);
    const { outside = false } = more;
    this.table.add({ sql: text, took, failed: error !== undefined, place, route: request?.name, outside });
  }
}

/** The text of a statement, on one line, without literals and comments. */
export function withoutValues(sql: string): string {
  const text = withoutLiterals(sql.slice(0, 4 * LONGEST_SQL), { text: "'…'", number: '?' })
    .replaceAll(/\s+/g, ' ')
    .trim();
  return text.length > LONGEST_SQL ? `${text.slice(0, LONGEST_SQL)}…` : text;
}
