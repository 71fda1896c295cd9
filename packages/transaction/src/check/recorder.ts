import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallStack, Occurrence, Place } from './finding.js';
import { lockedTables, type Names, type Recorded, statementText, withoutIds } from './record.js';

/** A function of the application that runs any statement has callers. */
const DEEPEST = 4;

/** Findings that depend on time, or that the record counts. */
const NOT_RECORDED: ReadonlySet<string> = new Set(['gap', 'repeated-statement', 'too-many-statements']);
/** Tests, and migrations, of which a database that is there already runs none. */
const NOT_OF_ROUTES = /(?:^|\/)(?:tests?|specs?|__tests__|e2e)\/|[.-](?:test|spec)\.[cm]?[jt]sx?$|migrat|seed/i;

/** The statements, locks and effects so far of one request, or of the transactions of one file without a request. */
export class Unit {
  readonly #statements = new Map<string, number>();
  readonly #locks = new Set<string>();
  readonly #effects = new Set<string>();
  readonly #at = new Map<string, readonly string[]>();
  #most = 0;
  #held = 0;

  statement(text: string, { times, total, held }: Record<'times' | 'total' | 'held', number>, stack: CallStack): void {
    const isMore = times > (this.#statements.get(text) ?? 0);
    if (isMore) this.#statements.set(text, times);
    this.#most = Math.max(this.#most, total);
    this.#held = Math.max(this.#held, held);
    // The last one may be the one too many.
    if (isMore) this.#seen(text, stack.places);
  }

  locked(pair: string, stack: CallStack): void {
    if (this.#locks.has(pair)) return;
    this.#locks.add(pair);
    this.#seen(pair, stack.places);
  }

  effect(what: string, place: Occurrence['place']): void {
    this.#effects.add(what);
    this.#seen(what, place ? [place] : []);
  }

  /** Undefined where the database was never asked. */
  of(route: string): Recorded | undefined {
    if (this.#statements.size + this.#effects.size === 0) return undefined;
    return {
      route,
      statements: Object.fromEntries(this.#statements),
      most: this.#most,
      held: this.#held,
      locks: namesOf(this.#locks),
      effects: namesOf(this.#effects),
      at: Object.fromEntries(this.#at),
    };
  }

  #seen(what: string, places: readonly Place[]): void {
    const lines = places.slice(0, DEEPEST).map(({ file, line }) => `${file}:${line}`);
    if (lines.length > 0) this.#at.set(what, lines);
  }
}

function namesOf(all: Iterable<string>): Names {
  return Object.fromEntries(Array.from(all, (name) => [name, true] as const));
}

/** A request as the recorder needs it. Its route is known at its end, where it has one. */
interface Request {
  readonly route: string;
  readonly lastRoute: string;
  readonly unit: Unit;
  readonly tally: { readonly total: number };
  readonly isOver: boolean;
}

interface Hold {
  readonly request: Request | undefined;
  readonly begun: CallStack;
  readonly isOpen: boolean;
  readonly tally: { readonly total: number };
  /** The tables whose rows its transaction has locked; none where the database has one writer. */
  readonly locked: Set<string> | undefined;
}

/** Writes what the units of a test run do, into a file of its own, at once: test runners kill their workers. */
export class Recorder {
  readonly #file: string;
  readonly #written = new Set<string>();
  /** Jobs by the file that begins them. */
  readonly #jobs = new Map<string, Unit>();

  constructor(folder: string) {
    this.#file = join(folder, `${process.pid}-${randomUUID()}.jsonl`);
  }

  statement(
    sql: string,
    stack: CallStack,
    { request, hold, times }: { request: Request | undefined; hold: Hold | undefined; times: number },
  ): void {
    this.#change(request, hold, (unit) => {
      const total = (request ?? hold)?.tally.total ?? 0;
      unit.statement(statementText(sql), { times, total, held: hold?.isOpen ? hold.tally.total : 0 }, stack);
      if (!hold?.isOpen || !hold.locked) return;
      for (const table of lockedTables(sql)) {
        if (hold.locked.has(table)) continue;
        for (const before of hold.locked) unit.locked(`${before} > ${table}`, stack);
        hold.locked.add(table);
      }
    });
  }

  found({ kind, target, sql, status, place }: Occurrence, request: Request | undefined, hold: Hold | undefined): void {
    if (NOT_RECORDED.has(kind)) return;
    const what = target ? withoutIds(target) : (status ?? (sql && statementText(sql)));
    this.#change(request, hold, (unit) => unit.effect([kind, what].filter(Boolean).join(' '), place));
  }

  plan(sql: string, scans: readonly string[]): void {
    this.#write({ sql: statementText(sql), scans: namesOf(scans) });
  }

  /** The request has its route for good. */
  finished({ lastRoute, unit }: Request): void {
    this.#write(unit.of(withoutIds(lastRoute)));
  }

  #change(request: Request | undefined, hold: Hold | undefined, change: (unit: Unit) => void): void {
    if (request) {
      change(request.unit);
      // Remembers it as it is now.
      if (request.route && request.isOver) this.finished(request);
      return;
    }
    const file = hold?.begun.place?.file;
    if (file === undefined || NOT_OF_ROUTES.test(file)) return;
    const unit = this.#jobs.get(file) ?? new Unit();
    this.#jobs.set(file, unit);
    change(unit);
    this.#write(unit.of(file));
  }

  #write(recorded: Recorded | undefined): void {
    if (!recorded) return;
    const line = JSON.stringify(recorded);
    if (this.#written.has(line)) return;
    this.#written.add(line);
    appendFileSync(this.#file, `${line}\n`);
  }
}
