/** What a registration asks for: a service, all of a key, or a way to get it later. */
export interface Need {
  readonly key: string;
  readonly how: 'one' | 'all' | 'later';
}

/** A registration, as the reference reads it. */
export interface Entry {
  readonly key: string;
  readonly needs: readonly Need[];
  readonly single?: boolean;
  readonly rank?: 'directly' | 'override';
  /** Other code has made it. */
  readonly isReady?: boolean;
  accepts(scope: Reference, addedTo: Reference): boolean;
  make(needs: readonly unknown[], scope: Reference): unknown;
  /** How the container disposes what it keeps of this, if at all. */
  endOf?(instance: unknown): (() => unknown) | undefined;
}

type Place = readonly [entry: Entry, owner: Reference];

/** What the container guarantees, in its plainest form: every question is a walk, and nothing is remembered but instances. */
export class Reference {
  /** This scope, the one around it, and so on. */
  readonly #line: readonly Reference[];
  readonly #children: Reference[] = [];
  readonly #instances = new Map<Entry, unknown>();
  readonly #owned = new Set<unknown>();
  readonly #disposers: (() => unknown)[] = [];
  #entries: Entry[] = [];
  #failures: unknown[] | undefined;

  constructor(
    readonly tags: readonly string[],
    above: readonly Reference[] = [],
  ) {
    this.#line = [this, ...above];
  }
  get disposed(): boolean {
    return this.#line.some((scope) => scope.#failures !== undefined);
  }
  #alive(): this {
    if (this.disposed) throw refusal('AMBIT_DISPOSED');
    return this;
  }
  addRegistration(...entries: readonly Entry[]): void {
    this.#alive().#entries.push(...entries);
  }
  /** Refuses a key that nothing knows, and one of which a scope that would get the override has something already. */
  override(...entries: readonly Entry[]): void {
    const open = this.#alive().#openBelow();
    const known = [...this.#line, ...open].flatMap((scope) => scope.#entries);
    for (const { key } of entries)
      if (!known.some((one) => one.key === key || one.needs.some((need) => need.key === key)))
        throw refusal('AMBIT_NOT_REGISTERED');
    for (const scope of open) {
      const line = scope.#line.slice(0, scope.#line.indexOf(this) + 1);
      const keys = entries.flatMap(({ key, accepts }) => (line.some((at) => accepts(at, this)) ? key : []));
      if (scope.#madeKeys().some((made) => keys.includes(made))) throw refusal('AMBIT_LATE_OVERRIDE');
    }
    this.#entries.push(...entries);
  }
  #openBelow(): Reference[] {
    return this.disposed ? [] : [this, ...this.#children.flatMap((child) => child.#openBelow())];
  }
  /** The keys of what this scope keeps, and of all that it has been made of. */
  #madeKeys(): string[] {
    const all = new Set([...this.#line].flatMap((scope) => scope.#entries.map(({ key }) => key)));
    const made = [...all]
      .flatMap((key) => this.#places(key))
      .filter(([{ single, isReady }, owner]) => owner === this && single && !isReady);
    return made.flatMap(([entry]) => (this.#instances.has(entry) ? [entry.key, ...this.#got(entry)] : []));
  }
  #got(made: Entry, seen = new Set<Entry>()): string[] {
    if (seen.has(made)) return [];
    seen.add(made);
    return made.needs.flatMap(({ key, how }) => {
      if (how === 'later') return [];
      const nearest = how === 'one' ? this.#nearest(key) : this.#places(key);
      return [key, ...nearest.flatMap(([entry]) => (entry.single ? [] : this.#got(entry, seen)))];
    });
  }
  #nearest(key: string): Place[] {
    const places = this.#places(key);
    const nearest = this.#line.find((scope) => places.some(([, owner]) => owner === scope));
    return places.filter(([, owner]) => owner === nearest).slice(-1);
  }
  remove(...entries: readonly Entry[]): void {
    this.#entries = this.#entries.filter((entry) => !entries.includes(entry));
  }
  register(key: string, factory: (scope: Reference) => unknown): void {
    const [last] = this.#alive().#entries.filter((entry) => entry.key === key).slice(-1);
    if (last?.rank === 'directly') this.remove(last);
    let result: { readonly kept: unknown } | undefined;
    const make = () => (result ??= { kept: factory(this) }).kept;
    this.#entries.push({ key, rank: 'directly', needs: [], accepts: Object.is, make });
  }
  createScope({ tags }: { tags: readonly string[] }): Reference {
    this.#children.unshift(new Reference(tags, this.#alive().#line));
    return this.#children[0]!;
  }
  resolve(key: string, how: Need['how'] = 'one'): unknown {
    return this.#alive().#way({ key, how }, this, [])();
  }
  resolveAll(key: string): unknown {
    return this.resolve(key, 'all');
  }
  /** Returns what failed. */
  dispose(): unknown[] {
    if (this.#failures) return this.#failures;
    const failures: unknown[] = (this.#failures = []);
    for (const child of this.#children) if (!child.#failures) failures.push(...child.dispose());
    for (const disposer of this.#disposers) {
      try {
        disposer();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }

  /** Everything under the key in reach, as it was added; the nearest scope that accepts it owns it. */
  #places(key: string): Place[] {
    const all: Place[] = [];
    this.#line.forEach((at, i) => {
      const own = at.#entries.filter((entry) => entry.key === key);
      const owner = (entry: Entry) => this.#line.slice(0, i + 1).find((scope) => entry.accepts(scope, at));
      all.unshift(...own.map((entry) => [entry, owner(entry)] as Place).filter(([, found]) => found));
    });
    const overrides = all.filter(([entry]) => entry.rank === 'override');
    return overrides.length > 0 ? overrides : all;
  }
  /** How to get what is needed; throws before anything is made if it is not available. */
  #way({ key, how }: Need, asker: Reference, path: readonly Place[]): () => unknown {
    if (how === 'later') return () => () => this.resolve(key);
    const chosen = how === 'all' ? this.#places(key) : this.#nearest(key);
    if (how === 'one' && !chosen[0]) throw this.#missing(key, asker, path);
    const ways = chosen.map(([entry, owner]) => (entry.single ? owner : this).#making(entry, asker, path));
    return () => (how === 'all' ? ways.map((way) => way()) : ways[0]?.());
  }
  #making(entry: Entry, asker: Reference, path: readonly Place[]): () => unknown {
    // What exists is given, whatever has become of its dependencies.
    if (entry.single && this.#instances.has(entry)) return () => this.#instances.get(entry);
    if (path.some((step) => step[0] === entry && step[1] === this)) throw refusal('AMBIT_CYCLE');
    const ways = entry.needs.map((need) => this.#way(need, asker, [...path, [entry, this]]));
    return () => {
      if (this.#instances.has(entry)) return this.#instances.get(entry);
      const instance = entry.make(
        ways.map((way) => way()),
        this,
      );
      if (entry.single) this.#keep(entry, instance);
      return instance;
    };
  }
  #keep(entry: Entry, instance: unknown): void {
    const end = entry.endOf?.(instance);
    const isOwned = this.#line.some((scope) => scope.#owned.has(instance));
    this.#instances.set(entry, instance);
    if (!end || isOwned) return;
    this.#owned.add(instance);
    this.#disposers.unshift(end);
  }
  #missing(key: string, asker: Reference, path: readonly Place[]): Error {
    const isKnown = this.#line.some((scope) => scope.#entries.some((entry) => entry.key === key));
    const isHeld = path.some(([entry, home]) => entry.single && home === this);
    if (isHeld && (isKnown || asker.#places(key).length > 0)) return refusal('AMBIT_CAPTIVE_DEPENDENCY');
    return refusal(isKnown ? 'AMBIT_OUT_OF_SCOPE' : 'AMBIT_NOT_REGISTERED');
  }
}

const refusal = (code: string) => Object.assign(new Error(code), { code });
