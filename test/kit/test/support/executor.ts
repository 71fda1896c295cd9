import type { Chance, FORBIDDEN, Operation, RecordedTransaction } from '../../src/index.js';

export type Level = keyof typeof FORBIDDEN;

const KEYS = ['x', 'y', 'z'];
const ROW_KEYS = ['p', 'q', 'r'];

/** The lists of one transaction: what it sees of each key that it has written. */
type Lists = Map<string, readonly number[]>;

interface Version {
  readonly at: number;
  readonly elements: readonly number[];
}

interface Row {
  readonly at: number;
  readonly key: string;
  readonly element: number;
}

/** A transaction that is open. */
class Running {
  readonly operations: Operation[] = [];
  readonly own: Lists = new Map();
  rows: readonly Row[] = [];
  snapshot = 0;
  constructor(readonly began: number) {}
}

/**
 * A database in memory whose transactions take turns, with the isolation of a level and no more: locks of rows until COMMIT, and
 * snapshots where the level has them. `strict serializable` runs one transaction after the other.
 */
export class Executor {
  readonly #chance: Chance;
  readonly #level: Level;
  readonly #stored = new Map<string, Version[]>();
  readonly #rows: Row[] = [];
  readonly #locks = new Map<string, Running>();
  #now = 0;
  #element = 0;

  constructor(chance: Chance, level: Level) {
    this.#chance = chance;
    this.#level = level;
  }

  /** So many transactions, of which some roll back and some have an unknown outcome, and two that read everything at the end. */
  run(transactions: number, sideBySide: number): RecordedTransaction[] {
    const history: RecordedTransaction[] = [];
    const open: { running: Running; steps: Generator<boolean, boolean> }[] = [];
    let started = 0;
    let blocked = 0;
    while (started < transactions || open.length > 0) {
      const most = this.#level === 'strict serializable' ? 1 : sideBySide;
      if (started < transactions && open.length < most && (open.length === 0 || this.#chance.of(0.3))) {
        const running = new Running(this.#tick());
        running.snapshot = this.#tick();
        open.push({ running, steps: this.#steps(running, running.operations, 3) });
        started += 1;
        continue;
      }
      const one = this.#chance.pick(open);
      const { done, value } = one.steps.next();
      blocked = value ? 0 : blocked + 1;
      // Where each waits for another, one of them is rolled back.
      const isVictim = blocked > 10 * open.length;
      if (!done && !isVictim) continue;
      blocked = 0;
      open.splice(open.indexOf(one), 1);
      history.push(this.#finish(one.running, `T${history.length}`, !isVictim && value));
    }
    for (const name of ['last', 'again']) history.push(this.#readAll(name));
    return history;
  }

  /** Yields whether the step could be taken; returns whether the transaction may commit. */
  *#steps(running: Running, operations: Operation[], most: number): Generator<boolean, boolean> {
    for (let left = 1 + this.#chance.below(most); left > 0; left -= 1) {
      const key = this.#chance.pick(KEYS);
      if (most > 1 && this.#chance.of(0.15)) {
        const before = new Map(running.own);
        const { rows } = running;
        const inside: Operation[] = [];
        const undone = this.#chance.of(0.5);
        if (!(yield* this.#steps(running, inside, most - 1))) return false;
        operations.push({ kind: 'nested', undone, operations: inside });
        if (!undone) continue;
        running.rows = rows;
        running.own.clear();
        for (const [written, elements] of before) running.own.set(written, elements);
      } else if (this.#chance.of(0.15)) {
        this.#element += 1;
        const row = { at: Infinity, key: this.#chance.pick(ROW_KEYS), element: this.#element };
        operations.push({ kind: 'insert', key: row.key, element: row.element });
        running.rows = [...running.rows, row];
      } else if (this.#chance.of(0.2)) {
        const first = this.#chance.below(ROW_KEYS.length);
        const keys = ROW_KEYS.slice(first, first + 1 + this.#chance.below(ROW_KEYS.length));
        operations.push({ kind: 'select', keys, elements: this.#select(running, keys) });
      } else if (this.#chance.of(0.5)) operations.push({ kind: 'read', key, elements: this.#read(running, key) });
      else {
        while ((this.#locks.get(key) ?? running) !== running) yield false;
        this.#locks.set(key, running);
        const newest = this.#newest(key);
        if (this.#level === 'snapshot isolation' && newest.at > running.snapshot) return false;
        this.#element += 1;
        operations.push({ kind: 'append', key, element: this.#element });
        running.own.set(key, [...(running.own.get(key) ?? newest.elements), this.#element]);
      }
      yield true;
    }
    return true;
  }

  #read(running: Running, key: string): readonly number[] {
    const own = running.own.get(key);
    if (own) return own;
    if (this.#level === 'read committed') return this.#newest(key).elements;
    return this.#stored.get(key)?.findLast(({ at }) => at <= running.snapshot)?.elements ?? [];
  }

  #select(running: Running, keys: readonly string[]): readonly number[] {
    const last = this.#level === 'read committed' ? this.#now : running.snapshot;
    const stored = this.#rows.filter(({ at }) => at <= last);
    return [...stored, ...running.rows].flatMap(({ key, element }) => (keys.includes(key) ? [element] : []));
  }

  #finish(running: Running, name: string, mayCommit: boolean): RecordedTransaction {
    for (const [key, holder] of this.#locks) if (holder === running) this.#locks.delete(key);
    const { began, operations, own, rows } = running;
    const isStored = mayCommit && this.#chance.of(0.9);
    const isUnknown = mayCommit && this.#chance.of(0.1);
    const at = this.#tick();
    if (isStored) {
      for (const [key, elements] of own) this.#stored.set(key, [...(this.#stored.get(key) ?? []), { at, elements }]);
      this.#rows.push(...rows.map((row) => ({ ...row, at })));
    }
    const outcome = isUnknown ? 'unknown' : isStored ? 'committed' : 'rolled back';
    return { name, outcome, began, finished: isUnknown ? Infinity : this.#tick(), operations };
  }

  #readAll(name: string): RecordedTransaction {
    const began = this.#tick();
    const operations = KEYS.map((key): Operation => ({ kind: 'read', key, elements: this.#newest(key).elements }));
    const elements = this.#rows.map(({ element }) => element);
    operations.push({ kind: 'select', keys: ROW_KEYS, elements });
    return { name, outcome: 'committed', began, finished: this.#tick(), operations };
  }

  #newest(key: string): Version {
    return this.#stored.get(key)?.at(-1) ?? { at: 0, elements: [] };
  }

  #tick(): number {
    this.#now += 1;
    return this.#now;
  }
}
