/** The functions of the platform where Node's modules cannot be imported: browsers, Workers, other runtimes. */
import type * as asyncHooks from 'node:async_hooks';
import type * as diagnostics from 'node:diagnostics_channel';

/** Workers have some of Node's modules with the flag `nodejs_compat`, and an import would fail without it. */
const { getBuiltinModule } = ((globalThis as { process?: unknown }).process ?? {}) as {
  getBuiltinModule?: (name: string) => unknown;
};
const hooks = getBuiltinModule?.('node:async_hooks') as typeof asyncHooks | undefined;
const channelsOfNode = getBuiltinModule?.('node:diagnostics_channel') as typeof diagnostics | undefined;

type Listener = (message: unknown) => void;

/** The part of `node:diagnostics_channel` that the container uses, for listeners in the same program. */
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

function channelHere(name: string): Channel {
  const known = channels.get(name) ?? new Channel(name);
  channels.set(name, known);
  return known;
}

export const channel: (name: string) => Pick<Channel, 'hasSubscribers' | 'publish'> =
  channelsOfNode?.channel ?? channelHere;
export const subscribe: (name: string, listener: Listener) => void =
  channelsOfNode?.subscribe ?? ((name, listener) => void channelHere(name).listeners.add(listener));
export const unsubscribe: (name: string, listener: Listener) => boolean =
  channelsOfNode?.unsubscribe ?? ((name, listener) => channelHere(name).listeners.delete(listener));

/** Nothing here follows a call through what it awaits: the scope has to be passed on. */
class NoAsyncLocalStorage<T> {
  run<R>(_store: T, _work: () => R): R {
    throw new TypeError(
      'runInScope() needs AsyncLocalStorage, which this platform does not have: pass the scope on as an argument, or give a Worker the flag nodejs_compat',
    );
  }

  getStore(): T | undefined {
    return undefined;
  }
}

export const AsyncLocalStorage: new <T>() => Pick<asyncHooks.AsyncLocalStorage<T>, 'run' | 'getStore'> =
  hooks?.AsyncLocalStorage ?? NoAsyncLocalStorage;

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
