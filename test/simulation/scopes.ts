import { Container, type IContainer } from '@ambit/container';

interface Entry {
  readonly tag: string;
  ends: number;
  /** Who disposes a scope behind the host's back allows the host to dispose it again. */
  endedFromTheSide: boolean;
}

/** Every scope of one run, and how often it was disposed. */
export class Ledger {
  readonly #entries = new Map<IContainer, Entry>();

  opened(scope: IContainer, tag: string): void {
    this.#entries.set(scope, { tag, ends: 0, endedFromTheSide: false });
  }

  ended(scope: IContainer): void {
    const entry = this.#entries.get(scope);
    if (entry) entry.ends += 1;
  }

  async endFromTheSide(scope: IContainer): Promise<void> {
    const entry = this.#entries.get(scope);
    if (entry) entry.endedFromTheSide = true;
    try {
      await scope.dispose();
    } catch {
      // The owner of the scope is notified, too.
    }
  }

  /** As the application does in the end, unless it was ended already. */
  async endForGood(scope: IContainer): Promise<void> {
    if (!this.isOver(scope)) await scope.dispose();
  }

  wasEndedFromTheSide(scope: IContainer | undefined): boolean {
    return scope !== undefined && this.#entries.get(scope)?.endedFromTheSide === true;
  }

  isOver(scope: IContainer): boolean {
    return (this.#entries.get(scope)?.ends ?? 0) > 0;
  }

  *complaints(): Generator<string> {
    for (const { tag, ends, endedFromTheSide } of this.#entries.values()) {
      if (ends === 0) yield `a scope tagged ${tag} is open`;
      if (ends > 1 && !endedFromTheSide) yield `a scope tagged ${tag} was ended ${ends} times`;
    }
  }
}

/** One for all runs, since its first scope costs more than the next thousand. */
const processScope = new Container({ tags: ['process'] });

/** Our own container: disposes the scopes below a scope with it, and has `defer`. */
export function ourApplication(ledger: Ledger): IContainer {
  return watched(processScope.createScope({ tags: ['application'] }), 'application', ledger);
}

function watched(scope: Container, tag: string, ledger: Ledger): Container {
  ledger.opened(scope, tag);
  scope.defer(() => ledger.ended(scope));
  const createScope = scope.createScope.bind(scope);
  return Object.assign(scope, {
    createScope: (options: { tags: string[] }) => watched(createScope(options), options.tags.join(' '), ledger),
  });
}

type Factory = (scope: IContainer) => unknown;

/** No more than hosts ask of a container: it leaves the scopes below a scope alone, and counts each `dispose()`. */
export class ForeignScope implements IContainer {
  readonly #ledger: Ledger;
  readonly #parent: ForeignScope | undefined;
  readonly #isReadOnly: boolean;
  readonly #keys = new Map<string, Factory>();
  readonly #instances: (() => unknown)[] = [];
  #ending: Promise<void> | undefined = undefined;

  constructor(
    ledger: Ledger,
    tag: string,
    { parent, isReadOnly = false }: { parent?: ForeignScope; isReadOnly?: boolean } = {},
  ) {
    this.#ledger = ledger;
    this.#parent = parent;
    this.#isReadOnly = isReadOnly;
    ledger.opened(this, tag);
  }

  createScope({ tags }: { tags: string[] }): ForeignScope {
    this.#refuseWhenOver();
    return new ForeignScope(this.#ledger, tags.join(' '), { parent: this, isReadOnly: this.#isReadOnly });
  }

  resolve<T>(key: string): T {
    this.#refuseWhenOver();
    const factory = this.lookUp(key);
    if (!factory) throw new Error(`nothing is registered as ${key}`);
    return factory(this) as T;
  }

  register(key: string, factory: Factory): void {
    this.#refuseWhenOver();
    if (this.#isReadOnly) throw new Error('nothing can be registered here');
    this.#keys.set(key, factory);
  }

  /** Stands for an instance that the scope made and ends. */
  owns(end: () => unknown): void {
    this.#refuseWhenOver();
    this.#instances.push(end);
  }

  dispose(): Promise<void> {
    this.#ledger.ended(this);
    this.#ending ??= this.#endInstances();
    return this.#ending;
  }

  async #endInstances(): Promise<void> {
    for (const end of this.#instances.toReversed()) await end();
  }

  lookUp(key: string): Factory | undefined {
    return this.#keys.get(key) ?? this.#parent?.lookUp(key);
  }

  #refuseWhenOver(): void {
    if (this.#ending) throw new Error('the scope is disposed');
  }
}

/** Gives the scope something to end. */
export function atEndOf(scope: IContainer, end: () => unknown): void {
  if (scope instanceof ForeignScope) scope.owns(end);
  else scope.defer?.(end);
}
