import { subscribe, unsubscribe } from 'node:diagnostics_channel';

const CREATED = 'ambit:instance:created';
/** Its name says nothing of the service. */
const NAMELESS: ReadonlySet<string> = new Set(['', 'Array', 'Function', 'Map', 'Object', 'Promise', 'Set']);

interface Created {
  readonly scope: { resolve(key: unknown): unknown };
  readonly key: unknown;
}

/** The keys of services by the names of their classes, as the container makes them. */
export class ServiceKeys {
  readonly #keys = new Map<string, string>();

  constructor() {
    subscribe(CREATED, this.#learn);
  }

  /** The key of the first of these functions that is a method of a service: `UserRepository.find`. */
  of(functions: readonly string[]): string | undefined {
    for (const name of functions) {
      const key = this.#keys.get(name.slice(0, Math.max(0, name.indexOf('.'))));
      if (key !== undefined) return key;
    }
    return undefined;
  }

  stop(): void {
    unsubscribe(CREATED, this.#learn);
  }

  readonly #learn = (message: unknown): void => {
    const { scope, key } = message as Created;
    try {
      const instance = scope.resolve(key) as object | null | undefined;
      const name = instance?.constructor.name ?? '';
      if (!NAMELESS.has(name) && !this.#keys.has(name)) this.#keys.set(name, labelOf(key));
    } catch {
      // A scope that is being disposed resolves nothing.
    }
  };
}

function labelOf(key: unknown): string {
  if (typeof key === 'function') return key.name;
  return typeof key === 'symbol' ? (key.description ?? 'a symbol') : String(key);
}
