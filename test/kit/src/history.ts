/**
 * A checker of transaction histories, in the manner of Elle: transactions append to lists and read them, so that each read shows
 * which transactions came before it and in which order. They also insert rows and select them by a predicate, which shows which
 * transactions came before it. Cycles of these dependencies are the anomalies G0 to G2 of the literature.
 */

/**
 * One step of a transaction. No element is written twice in a history. A nested one is a savepoint. `insert` adds a row that stays,
 * and `select` gives the rows of several keys, in any order; their keys are not those of lists.
 */
export type Operation =
  | { readonly kind: 'append'; readonly key: string; readonly element: number }
  | { readonly kind: 'insert'; readonly key: string; readonly element: number }
  | { readonly kind: 'read'; readonly key: string; readonly elements: readonly number[] }
  | { readonly kind: 'select'; readonly keys: readonly string[]; readonly elements: readonly number[] }
  | { readonly kind: 'nested'; readonly undone: boolean; readonly operations: readonly Operation[] };

/** One attempt of a transaction, as the program that ran it knows it. */
export interface RecordedTransaction {
  readonly name: string;
  /** `unknown`: the response to COMMIT was lost, so it may be stored or not. */
  readonly outcome: 'committed' | 'rolled back' | 'unknown';
  /** A moment before BEGIN, on one clock for all processes. */
  readonly began: number;
  /** A moment after the response to COMMIT; Infinity where there was none. */
  readonly finished: number;
  readonly operations: readonly Operation[];
}

/**
 * How one transaction depends on another. `ww`: it wrote the next version; `wr`: it read what the other wrote; `rw`: the other wrote
 * the next version of what it read, or a row that its predicate matches and that it did not read; `rt`: it began after the other had finished.
 */
type EdgeKind = 'ww' | 'wr' | 'rw' | 'rt';

interface Edge {
  readonly kind: EdgeKind;
  readonly from: number;
  readonly to: number;
  readonly key?: string;
  readonly isOfPredicate?: true;
  readonly why: string;
}

/** What no database may do at any level. */
const NEVER = [
  'unknown element',
  'duplicate element',
  'incompatible orders',
  'lost write',
  'own write not read',
  'aborted read (G1a)',
] as const;
const CYCLES_OF_WRITES = [
  'intermediate read (G1b)',
  'dirty write (G0)',
  'circular information flow (G1c)',
  'circular information flow in real time',
  'stale read',
] as const;
/** A snapshot that is not one: what a transaction read is of two moments. */
const OF_SNAPSHOTS = [
  'non-repeatable read',
  'phantom (P3)',
  'read skew (G-single)',
  'read skew in real time',
  'long fork (G-nonadjacent)',
  'long fork in real time',
] as const;
/** A write over a version that the snapshot of its transaction does not show. */
const OF_WRITES_ON_SNAPSHOTS = [
  'lost update (P4)',
  'write after a stale read (G-single)',
  'write after a stale read in real time',
] as const;
const OF_SERIAL_ORDER = ['write skew (G2-item)', 'write skew by predicate (G2)', 'serialization in real time'] as const;

const COMMITTED = [...NEVER, ...CYCLES_OF_WRITES] as const;
const INNODB = [...COMMITTED, ...OF_SNAPSHOTS] as const;
const SNAPSHOT = [...INNODB, ...OF_WRITES_ON_SNAPSHOTS] as const;
const SERIAL = [...SNAPSHOT, ...OF_SERIAL_ORDER] as const;

export type AnomalyName = (typeof SERIAL)[number];

/** What each level forbids. InnoDB's `repeatable read` has snapshots for reads alone: writes see what has been committed since. */
export const FORBIDDEN = {
  'read committed': new Set<AnomalyName>(COMMITTED),
  "InnoDB's repeatable read": new Set<AnomalyName>(INNODB),
  'snapshot isolation': new Set<AnomalyName>(SNAPSHOT),
  'strict serializable': new Set<AnomalyName>(SERIAL),
} as const;

export interface Anomaly {
  readonly name: AnomalyName;
  /** The names of the transactions that it takes. */
  readonly transactions: readonly string[];
  /** One line for each dependency of the cycle, or what was read. */
  readonly because: readonly string[];
}

interface Write {
  readonly by: number;
  readonly key: string;
  readonly element: number;
  /** In a savepoint that was rolled back. */
  readonly undone: boolean;
  /** How many were appended before it, by any transaction. */
  readonly position: number;
  /** Its transaction appended more to this key. */
  isIntermediate: boolean;
}

interface Read {
  readonly by: number;
  readonly key: string;
  readonly elements: readonly number[];
  /** The elements in front of the first one of this transaction. */
  readonly before: readonly number[];
}

interface Select {
  readonly by: number;
  readonly keys: readonly string[];
  readonly elements: readonly number[];
}

/** How a cycle is searched: from each edge of the kind `through`, over edges of the `kinds`; `beforeRw` may stand in front of an rw. */
interface CycleRule {
  readonly name: AnomalyName;
  readonly through: EdgeKind;
  readonly kinds: ReadonlySet<EdgeKind>;
  readonly beforeRw: ReadonlySet<EdgeKind>;
}

const kinds = (...names: EdgeKind[]): ReadonlySet<EdgeKind> => new Set(names);
const NONE = kinds();

/** No rw: forbidden at each level. */
const WITHOUT_RW: readonly CycleRule[] = [
  { name: 'dirty write (G0)', through: 'ww', kinds: kinds('ww'), beforeRw: NONE },
  { name: 'circular information flow (G1c)', through: 'wr', kinds: kinds('ww', 'wr'), beforeRw: NONE },
  { name: 'circular information flow in real time', through: 'rt', kinds: kinds('ww', 'wr', 'rt'), beforeRw: NONE },
];
/** The first that fits an rw is the one that the fewest levels allow. */
const WITH_RW: readonly CycleRule[] = [
  { name: 'stale read', through: 'rw', kinds: kinds('rt'), beforeRw: kinds('rt') },
  { name: 'read skew (G-single)', through: 'rw', kinds: kinds('ww', 'wr'), beforeRw: kinds('wr') },
  { name: 'read skew in real time', through: 'rw', kinds: kinds('ww', 'wr', 'rt'), beforeRw: kinds('wr', 'rt') },
  { name: 'long fork (G-nonadjacent)', through: 'rw', kinds: kinds('ww', 'wr', 'rw'), beforeRw: kinds('wr') },
  {
    name: 'long fork in real time',
    through: 'rw',
    kinds: kinds('ww', 'wr', 'rw', 'rt'),
    beforeRw: kinds('wr', 'rt'),
  },
  {
    name: 'write after a stale read (G-single)',
    through: 'rw',
    kinds: kinds('ww', 'wr', 'rw'),
    beforeRw: kinds('ww', 'wr'),
  },
  {
    name: 'write after a stale read in real time',
    through: 'rw',
    kinds: kinds('ww', 'wr', 'rw', 'rt'),
    beforeRw: kinds('ww', 'wr', 'rt'),
  },
  {
    name: 'write skew (G2-item)',
    through: 'rw',
    kinds: kinds('ww', 'wr', 'rw'),
    beforeRw: kinds('ww', 'wr', 'rw'),
  },
  {
    name: 'serialization in real time',
    through: 'rw',
    kinds: kinds('ww', 'wr', 'rw', 'rt'),
    beforeRw: kinds('ww', 'wr', 'rw', 'rt'),
  },
];

/**
 * Every anomaly of a history, also those that its level allows: `FORBIDDEN` says which those are not. A transaction of unknown
 * outcome counts as committed where another has read what it wrote, and not otherwise.
 *
 * @param history - one record for each attempt; read every key twice at the end, or a write that nobody has read is not missed
 * @returns one anomaly for each set of transactions, the gravest kind first
 * @throws Error an element was written twice
 */
export function anomaliesOf(history: readonly RecordedTransaction[]): Anomaly[] {
  return new Check(history).anomalies();
}

/** One history, and what was found in it so far. */
class Check {
  readonly #history: readonly RecordedTransaction[];
  readonly #writes = new Map<number, Write>();
  /** The rows of each key, without those of savepoints that were rolled back. */
  readonly #inserted = new Map<string, Write[]>();
  readonly #reads: Read[] = [];
  readonly #selects: Select[] = [];
  /** Committed, or of unknown outcome and seen by another. */
  readonly #isCommitted: boolean[];
  /** The order in which each key got its elements. */
  readonly #orders = new Map<string, readonly number[]>();
  readonly #edges: Edge[][];
  readonly #found = new Map<string, Anomaly>();

  constructor(history: readonly RecordedTransaction[]) {
    this.#history = history;
    this.#edges = history.map(() => []);
    history.forEach(({ operations }, by) => this.#noteWrites(operations, { by, undone: false, last: new Map() }));
    this.#isCommitted = history.map(({ outcome }) => outcome === 'committed');
    for (const { outcome, operations } of history) if (outcome === 'committed') this.#noteSeen(operations);
  }

  anomalies(): Anomaly[] {
    this.#history.forEach(({ operations }, by) => {
      if (this.#isCommitted[by]) this.#checkReads(operations, { by, own: new Map(), seen: new Map() });
    });
    this.#orderVersions();
    this.#findLostWrites();
    this.#addDependencies();
    this.#addRealTime();
    this.#findCycles();
    const gravity: readonly AnomalyName[] = SERIAL;
    return [...this.#found.values()].toSorted((a, b) => gravity.indexOf(a.name) - gravity.indexOf(b.name));
  }

  #noteWrites(
    operations: readonly Operation[],
    { by, undone, last }: { by: number; undone: boolean; last: Map<string, Write> },
  ): void {
    for (const one of operations) {
      if (one.kind === 'nested') this.#noteWrites(one.operations, { by, undone: undone || one.undone, last });
      if (one.kind !== 'append' && one.kind !== 'insert') continue;
      const { kind, key, element } = one;
      if (this.#writes.has(element)) throw new Error(`${element} was written twice`);
      const write = { by, key, element, undone, position: this.#writes.size, isIntermediate: false };
      this.#writes.set(element, write);
      if (undone) continue;
      if (kind === 'insert') {
        this.#inserted.set(key, [...(this.#inserted.get(key) ?? []), write]);
        continue;
      }
      const before = last.get(key);
      if (before) before.isIntermediate = true;
      last.set(key, write);
    }
  }

  #noteSeen(operations: readonly Operation[]): void {
    for (const one of operations) {
      if (one.kind === 'nested') this.#noteSeen(one.operations);
      if (one.kind !== 'read' && one.kind !== 'select') continue;
      for (const element of one.elements) {
        const write = this.#writes.get(element);
        if (write && !write.undone && this.#history[write.by]?.outcome === 'unknown')
          this.#isCommitted[write.by] = true;
      }
    }
  }

  /** What one transaction read, beside what it wrote before. */
  #checkReads(
    operations: readonly Operation[],
    { by, own, seen }: { by: number; own: Map<string, readonly number[]>; seen: Map<string, string> },
  ): void {
    for (const one of operations) {
      if (one.kind === 'append' || one.kind === 'insert') own.set(one.key, [...(own.get(one.key) ?? []), one.element]);
      else if (one.kind === 'read') this.#checkRead(one.key, one.elements, { by, own: own.get(one.key) ?? [], seen });
      else if (one.kind === 'select')
        this.#checkSelect(one.keys, one.elements, { by, own: one.keys.flatMap((key) => own.get(key) ?? []), seen });
      else {
        const before = new Map(own);
        this.#checkReads(one.operations, { by, own, seen });
        if (one.undone) {
          own.clear();
          for (const [key, elements] of before) own.set(key, elements);
        }
      }
    }
  }

  #checkRead(
    key: string,
    elements: readonly number[],
    { by, own, seen }: { by: number; own: readonly number[]; seen: Map<string, string> },
  ): void {
    const what = `${this.#name(by)} read ${key} as [${elements.join(' ')}]`;
    const writes = this.#checkElements([key], elements, { by, own, what });
    const last = writes.findLast((write) => write && write.by !== by);
    if (last?.isIntermediate)
      this.#note(
        'intermediate read (G1b)',
        [by, last.by],
        `${what}, and ${this.#name(last.by)} appended more behind ${last.element}`,
      );
    const firstOwn = writes.findIndex((write) => write?.by === by);
    const read = { by, key, elements, before: firstOwn === -1 ? elements : elements.slice(0, firstOwn) };
    this.#reads.push(read);
    if (firstOwn !== -1) return;
    const version = elements.join(' ');
    const first = seen.get(key);
    if (first !== undefined && first !== version)
      this.#note('non-repeatable read', [by], `${what}, and before as [${first}]`);
    seen.set(key, version);
  }

  #checkSelect(
    keys: readonly string[],
    elements: readonly number[],
    { by, own, seen }: { by: number; own: readonly number[]; seen: Map<string, string> },
  ): void {
    const what = `${this.#name(by)} selected ${keys.join(', ')} as [${elements.join(' ')}]`;
    const writes = this.#checkElements(keys, elements, { by, own, what });
    this.#selects.push({ by, keys, elements });
    const others = new Set(writes.flatMap((write) => (write && write.by !== by ? [write.by] : [])));
    for (const missed of this.#rowsOf(keys)) {
      if (others.has(missed.by) && !elements.includes(missed.element))
        this.#note(
          'intermediate read (G1b)',
          [by, missed.by],
          `${what}, with a part of what ${this.#name(missed.by)} inserted, without ${missed.element}`,
        );
    }
    for (const key of keys) {
      const foreign = writes.flatMap((write) => (write?.key === key && write.by !== by ? [write.element] : []));
      const rows = foreign.toSorted((a, b) => a - b).join(' ');
      const first = seen.get(key);
      if (first !== undefined && first !== rows)
        this.#note('phantom (P3)', [by], `${what}, and before ${key} as [${first}]`);
      seen.set(key, rows);
    }
  }

  /** What nobody may find where these elements were read or selected, at any level. */
  #checkElements(
    keys: readonly string[],
    elements: readonly number[],
    { by, own, what }: { by: number; own: readonly number[]; what: string },
  ): (Write | undefined)[] {
    const writes = elements.map((element) => this.#writes.get(element));
    const repeated = writes.flatMap((write, at) => (write && writes.indexOf(write) < at ? [write.by] : []));
    if (repeated.length > 0) this.#note('duplicate element', [by, ...repeated], what);
    for (const [at, write] of writes.entries()) {
      const element = elements[at];
      if (!write || !keys.includes(write.key))
        this.#note('unknown element', [by], `${what}, and nobody wrote ${element} there`);
      else if (write.by === by) {
        if (own.includes(write.element)) continue;
        if (write.undone)
          this.#note('aborted read (G1a)', [by], `${what}, with ${element} of a savepoint that was rolled back`);
        else this.#note('unknown element', [by], `${what}, and wrote ${element} only later`);
      } else if (write.undone || !this.#isCommitted[write.by])
        this.#note(
          'aborted read (G1a)',
          [by, write.by],
          `${what}, with ${element} that ${this.#name(write.by)} rolled back`,
        );
    }
    const missing = own.filter((element) => !elements.includes(element));
    if (missing.length > 0) this.#note('own write not read', [by], `${what}, without its own ${missing.join(' ')}`);
    return writes;
  }

  #orderVersions(): void {
    const versions = this.#reads.map((read) => ({ read, version: this.#stored(read.elements) }));
    for (const { read, version } of versions)
      if (version.length > (this.#orders.get(read.key)?.length ?? -1)) this.#orders.set(read.key, version);
    for (const [key, order] of this.#orders) this.#checkOwnOrder(key, order);
    for (const { read, version } of versions) {
      const order = this.#orders.get(read.key) ?? [];
      if (version.every((element, at) => element === order[at])) continue;
      const others = version.flatMap((element) => this.#writes.get(element)?.by ?? []);
      const what = `${this.#name(read.by)} read ${read.key} as [${read.elements.join(' ')}], and another as [${order.join(' ')}]`;
      this.#note('incompatible orders', [read.by, ...others], what);
    }
  }

  /** Two elements of one transaction that are stored in another order than it appended them. */
  #checkOwnOrder(key: string, order: readonly number[]): void {
    const last = new Map<number, Write>();
    for (const element of order) {
      const write = this.#writes.get(element);
      if (!write) continue;
      const before = last.get(write.by);
      if (before && before.position > write.position) {
        const what = `${this.#name(write.by)} appended ${element} to ${key} before ${before.element}, and it stands behind it`;
        this.#note('incompatible orders', [write.by], what);
      }
      last.set(write.by, write);
    }
  }

  /** Without what was never committed, and without repetitions: these are anomalies of their own. */
  #stored(elements: readonly number[]): readonly number[] {
    return [...new Set(elements)].filter((element) => {
      const write = this.#writes.get(element);
      return write !== undefined && !write.undone && this.#isCommitted[write.by];
    });
  }

  /** A write that nobody has read although its key was read later. */
  #findLostWrites(): void {
    const ends = this.#history.map(({ outcome, finished }) => (outcome === 'committed' ? finished : Infinity));
    for (const { by, elements } of [...this.#reads, ...this.#selects]) {
      for (const element of elements) {
        const write = this.#writes.get(element);
        const { finished = Infinity } = this.#history[by] ?? {};
        // A transaction that is seen in part is stored as a whole.
        if (write && write.by !== by) ends[write.by] = Math.min(ends[write.by] ?? Infinity, finished);
      }
    }
    const lastRead = new Map<string, number>();
    const notice = (by: number, key: string): void =>
      void lastRead.set(key, Math.max(lastRead.get(key) ?? -Infinity, this.#history[by]?.began ?? -Infinity));
    for (const { by, key } of this.#reads) notice(by, key);
    for (const { by, keys } of this.#selects) for (const key of keys) notice(by, key);
    const selected = new Set(this.#selects.flatMap(({ elements }) => elements));
    for (const { by, key, element, undone } of this.#writes.values()) {
      if (undone || !this.#isCommitted[by]) continue;
      if (selected.has(element) || this.#orders.get(key)?.includes(element)) continue;
      if ((lastRead.get(key) ?? -Infinity) > (ends[by] ?? Infinity))
        this.#note('lost write', [by], `${this.#name(by)} wrote ${element} to ${key}, which is in no later read`);
    }
  }

  #addDependencies(): void {
    for (const [key, order] of this.#orders) {
      for (const [at, element] of order.entries()) {
        if (at === 0) continue;
        const why = `appended ${element} to ${key}, behind ${order[at - 1]} of`;
        this.#addEdge('ww', this.#writerOf(order[at - 1]), this.#writerOf(element), { key, why, isOf: 'to' });
      }
    }
    for (const { by, key, elements, before } of this.#reads) {
      const order = this.#orders.get(key) ?? [];
      const version = this.#stored(before);
      if (version.some((element, at) => element !== order[at])) continue;
      const last = order[version.length - 1];
      const next = order[version.length];
      const isOverwritten = before.length < elements.length;
      const read = `read ${key} as [${elements.join(' ')}]`;
      // Behind it stands an own write, which has to see the newest version at each level.
      this.#addEdge(isOverwritten ? 'ww' : 'wr', this.#writerOf(last), by, {
        key,
        why: `${read}, with ${last} of`,
        isOf: 'to',
      });
      this.#addEdge('rw', by, this.#writerOf(next), { key, why: `${read}, without ${next} of`, isOf: 'from' });
      const foreign = elements.findLast((element) => this.#writerOf(element) !== by);
      if (isOverwritten && foreign !== undefined && !before.includes(foreign))
        this.#addEdge('wr', this.#writerOf(foreign), by, { key, why: `${read}, with ${foreign} of`, isOf: 'to' });
    }
    for (const { by, keys, elements } of this.#selects) {
      const selected = `selected ${keys.join(', ')} as [${elements.join(' ')}]`;
      for (const { by: writer, element } of this.#rowsOf(keys)) {
        if (elements.includes(element))
          this.#addEdge('wr', writer, by, { why: `${selected}, with ${element} of`, isOf: 'to' });
        else
          this.#addEdge('rw', by, writer, {
            isOfPredicate: true,
            why: `${selected}, without ${element} of`,
            isOf: 'from',
          });
      }
    }
  }

  /** What was inserted with one of these keys, and not rolled back. */
  #rowsOf(keys: readonly string[]): Write[] {
    return keys.flatMap((key) => this.#inserted.get(key) ?? []).filter(({ by }) => this.#isCommitted[by]);
  }

  /** Each transaction after those that had finished before it began, without those that follow from others. */
  #addRealTime(): void {
    const nodes = this.#history.flatMap((_, at) => (this.#isCommitted[at] ? [at] : []));
    const of = (at: number): RecordedTransaction => this.#history[at] as RecordedTransaction;
    const finishing = nodes.toSorted((a, b) => of(a).finished - of(b).finished);
    let frontier: number[] = [];
    let next = 0;
    for (const node of nodes.toSorted((a, b) => of(a).began - of(b).began)) {
      for (; next < finishing.length; next += 1) {
        const done = finishing[next] as number;
        if (of(done).finished >= of(node).began) break;
        frontier = frontier.filter((before) => of(before).finished >= of(done).began);
        frontier.push(done);
      }
      for (const before of frontier)
        this.#addEdge('rt', before, node, { why: 'began after the response to', isOf: 'to' });
    }
  }

  #addEdge(
    kind: EdgeKind,
    from: number | undefined,
    to: number | undefined,
    { key, why, isOf, isOfPredicate }: { key?: string; isOfPredicate?: true; why: string; isOf: 'from' | 'to' },
  ): void {
    if (from === undefined || to === undefined || from === to) return;
    const edges = this.#edges[from];
    if (!edges || edges.some((edge) => edge.to === to && edge.kind === kind && edge.key === key)) return;
    const [subject, object] = isOf === 'to' ? [to, from] : [from, to];
    const line = `${this.#name(from)} -${kind}-> ${this.#name(to)}: ${this.#name(subject)} ${why} ${this.#name(object)}`;
    edges.push({
      kind,
      from,
      to,
      why: line,
      ...(key === undefined ? {} : { key }),
      ...(isOfPredicate && { isOfPredicate }),
    });
  }

  #findCycles(): void {
    const component = componentsOf(this.#edges);
    const inside = this.#edges.map((edges) => edges.filter(({ from, to }) => component[from] === component[to]));
    const all = inside.flat();
    for (const rule of WITHOUT_RW)
      for (const edge of all) if (edge.kind === rule.through) this.#noteCycle(rule, cycleThrough(edge, inside, rule));
    for (const edge of all.filter(({ kind }) => kind === 'rw')) {
      for (const rule of WITH_RW) if (this.#noteCycle(rule, cycleThrough(edge, inside, rule))) break;
    }
  }

  #noteCycle({ name }: CycleRule, cycle: readonly Edge[] | undefined): boolean {
    if (!cycle) return false;
    const isOfOneKey = cycle.every(({ key }) => key !== undefined && key === cycle[0]?.key);
    const isLostUpdate = name === 'write after a stale read (G-single)' && isOfOneKey;
    const isByPredicate = name === 'write skew (G2-item)' && cycle.some(({ isOfPredicate }) => isOfPredicate);
    this.#note(
      isLostUpdate ? 'lost update (P4)' : isByPredicate ? 'write skew by predicate (G2)' : name,
      [...new Set(cycle.map(({ from }) => from))],
      ...cycle.map(({ why }) => why),
    );
    return true;
  }

  #note(name: AnomalyName, involved: readonly number[], ...because: string[]): void {
    const transactions = [...new Set(involved)].map((at) => this.#name(at)).toSorted();
    const id = `${name} ${transactions.join(' ')}`;
    if (!this.#found.has(id)) this.#found.set(id, { name, transactions, because });
  }

  #writerOf(element: number | undefined): number | undefined {
    return element === undefined ? undefined : this.#writes.get(element)?.by;
  }

  #name(at: number): string {
    return this.#history[at]?.name ?? '';
  }
}

/** The shortest cycle that begins with this edge, where each rw comes behind an edge that the rule allows there. */
function cycleThrough(first: Edge, edges: readonly (readonly Edge[])[], rule: CycleRule): readonly Edge[] | undefined {
  /** How each place was reached; a place is a transaction, and whether an rw may follow. */
  const reachedBy = new Map<number, { edge: Edge; before: number }>();
  const placeBehind = ({ to, kind }: Edge): number => 2 * to + (rule.beforeRw.has(kind) ? 1 : 0);
  const start = placeBehind(first);
  let places = [start];
  while (places.length > 0) {
    const further: number[] = [];
    for (const place of places) {
      for (const edge of edges[Math.floor(place / 2)] ?? []) {
        if (!rule.kinds.has(edge.kind) || (edge.kind === 'rw' && place % 2 === 0)) continue;
        const behind = placeBehind(edge);
        if (edge.to === first.from && (first.kind !== 'rw' || behind % 2 === 1)) {
          const cycle = [edge];
          for (let at = place; at !== start; at = reachedBy.get(at)?.before ?? start)
            cycle.unshift((reachedBy.get(at) as { edge: Edge }).edge);
          return [first, ...cycle];
        }
        if (behind === start || reachedBy.has(behind)) continue;
        reachedBy.set(behind, { edge, before: place });
        further.push(behind);
      }
    }
    places = further;
  }
  return undefined;
}

/** The strongly connected components, as a number for each transaction: no cycle leaves one. */
function componentsOf(edges: readonly (readonly Edge[])[]): readonly number[] {
  const component: number[] = edges.map(() => -1);
  const order: number[] = edges.map(() => -1);
  const lowest: number[] = edges.map(() => -1);
  const stack: number[] = [];
  let count = 0;
  let components = 0;
  for (let root = 0; root < edges.length; root += 1) {
    if (order[root] !== -1) continue;
    const path = [{ node: root, next: 0 }];
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const { node } = top;
      if (top.next === 0) {
        order[node] = lowest[node] = count;
        count += 1;
        stack.push(node);
      }
      const edge = edges[node]?.[top.next];
      top.next += 1;
      if (edge) {
        if (order[edge.to] === -1) path.push({ node: edge.to, next: 0 });
        else if (component[edge.to] === -1) lowest[node] = Math.min(lowest[node] ?? 0, order[edge.to] ?? 0);
        continue;
      }
      path.pop();
      const above = path.at(-1)?.node;
      if (above !== undefined) lowest[above] = Math.min(lowest[above] ?? 0, lowest[node] ?? 0);
      if (lowest[node] !== order[node]) continue;
      for (let member = stack.pop(); member !== undefined; member = member === node ? undefined : stack.pop())
        component[member] = components;
      components += 1;
    }
  }
  return component;
}
