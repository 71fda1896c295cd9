/** The functions of the platform where nothing of Node exists: browsers, Workers, other runtimes. */
type Listener = (message: unknown) => void;

/** As much of `node:diagnostics_channel` as the container uses, for listeners in the same program. */
class Channel {
  readonly listeners = new Set<Listener>();
  constructor(readonly name: string) {}

  get hasSubscribers(): boolean {
    return this.listeners.size > 0;
  }

  publish(message: unknown): void {
    for (const listener of this.listeners) listener(message);
  }
}

const channels = new Map<string, Channel>();

export function channel(name: string): Channel {
  const known = channels.get(name) ?? new Channel(name);
  channels.set(name, known);
  return known;
}

export const subscribe = (name: string, listener: Listener): void => void channel(name).listeners.add(listener);
export const unsubscribe = (name: string, listener: Listener): boolean => channel(name).listeners.delete(listener);

/** Nothing here follows a call through what it awaits: the scope has to be passed on. */
export class AsyncLocalStorage<T> {
  run<R>(_store: T, _work: () => R): R {
    throw new TypeError(
      'runInScope() needs AsyncLocalStorage, which this platform does not have: pass the scope on as an argument',
    );
  }

  getStore(): T | undefined {
    return undefined;
  }
}

export const { setTimeout } = globalThis;
/** Only Node warns of many listeners. */
export const setMaxListeners = (): void => {};

/** A value in a message. */
export function inspect(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return `[Function: ${value.name || '(anonymous)'}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  return `[${(value.constructor as { name?: string } | undefined)?.name ?? 'Object'}]`;
}
