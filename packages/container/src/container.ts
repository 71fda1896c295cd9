import type { Binding, Bound } from './registration.js';
import type { Factory, IContainer } from './contract.js';
import {
  dispose,
  NOTHING_TO_DISPOSE,
  promiseOf,
  DEFERRED,
  keep,
  add,
  directly,
  register,
  isPromise,
} from './instances.js';
import { checkFunction, checkKey, refuse, show, showTags, ContainerError } from './errors.js';
import type { Injector } from './inject.js';
import type { AbstractClass, Delivered, Key, Keyed, KnownKey, Listed, ServiceMap } from './keys.js';
import { place, places } from './places.js';
import { collectionFor, resolverFor } from './resolvers.js';
import {
  refuseDisposed,
  outermostShape,
  type ScopeOptions,
  type Shape,
  NEAR,
  tenths,
  type Disposal,
  type Kept,
  type Rare,
  progress,
  type Scope,
  rare,
  type Starting,
} from './shape.js';
import { scopeClosed, scopeOpened } from './events.js';
import { makeAt } from './compile.js';

/**
 * A scope: it makes instances, keeps those that it owns, and disposes them. The application's container is the outermost scope.
 *
 * @example
 * ```ts
 * const app = new Container({ tags: ['application'] });
 * app.addRegistration(Registration.fromFactory(() => new Date()).pipe(singleton(), scope(hasTag('request'))).to('IStart'));
 *
 * await using request = app.createScope({ tags: ['request'] });
 * request.resolve<Date>('IStart');
 * ```
 */
export class Container implements IContainer, AsyncDisposable {
  /** @internal */ shape: Shape;
  /** @internal What was made, by slot. */ slots: unknown[];
  /** @internal */ rare: Rare | undefined = undefined;
  /** @internal 1 while it is disposed, 2 when that is over. */ closed: 0 | 1 | 2 = 0;
  /** @internal In progress or done; only a promise where nobody else waits. */ disposal:
    | Disposal
    | Promise<void>
    | undefined = undefined;
  /** @internal What is to be disposed or started, the newest first. */ kept: Kept | undefined = undefined;
  /** @internal The open scopes below are a list: the newest, the one older than it, and so on. */ newest:
    | Container
    | undefined = undefined;
  /** @internal */ older: Container | undefined = undefined;
  /** @internal */ newer: Container | undefined = undefined;
  /** @internal */ readonly opened: number = tenths();

  /**
   * Makes the outermost scope. The child scopes come from `createScope()`.
   *
   * @param options - the tags of the container. Default: none
   * @throws `ContainerError` `AMBIT_BAD_TAGS`: the tags are not a list of strings
   */
  constructor(options?: ScopeOptions);
  /**
   * Makes the outermost scope, with another way to read the dependencies of classes.
   *
   * @param injector - lists the dependencies of a class whose registration does not. Default: a {@link MetadataInjector}
   * @param options - the tags of the container. Default: none
   * @throws `ContainerError` `AMBIT_BAD_TAGS`: the tags are not a list of strings
   */
  constructor(injector?: Injector, options?: ScopeOptions);
  /** @internal */ constructor(injector: undefined, options: undefined, parent: Container, shape: Shape);
  constructor(first?: Injector | ScopeOptions, second?: ScopeOptions, parent?: Container, shape?: Shape) {
    this.parent = parent;
    this.shape = shape ?? outermostShape(first, second);
    // oxlint-disable-next-line no-new-array -- room for so many, which no other way of writing it gives
    this.slots = new Array<unknown>(Math.min(this.shape.slots.size, NEAR));
  }

  /** The scope around this one; undefined for the outermost. */
  readonly parent: Container | undefined;

  /** The tags of this scope itself, without those of the scopes around it. */
  get tags(): readonly string[] {
    return this.shape.tags;
  }

  /**
   * Whether this scope itself has the tag; those of the scopes around it do not count.
   *
   * @param tag - the tag, such as `request`
   * @returns true if the tag is one of {@link Container.tags}
   */
  hasTag(tag: string): boolean {
    return this.shape.hasTag(tag);
  }

  /** True from the call of `dispose()` on, of this scope or one around it. */
  get disposed(): boolean {
    return this.closed > 0;
  }

  /**
   * Adds registrations to this scope and, where their predicates accept them, to all scopes below it.
   *
   * @param registrations - each completed with `.to(key)`. Of two with one key the last one wins
   * @returns this container
   * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: a registration has no key; `AMBIT_DISPOSED`: the scope is disposed
   */
  addRegistration<R extends readonly unknown[]>(...registrations: R & Bound<R>): this {
    refuseDisposed(this, 'addRegistration');
    for (const binding of registrations as readonly (Binding | undefined)[])
      if (!binding?.source) refuse(`addRegistration got ${show(binding)}`, 'complete each registration with .to(key)');
    add(this, registrations);
    return this;
  }

  /**
   * Registers a factory directly on this scope. It runs at each `resolve`; the container neither keeps nor disposes its results.
   *
   * @param key - what this scope and those below it resolve it by. A second call with the key replaces the factory
   * @param factory - makes the value; receives this scope, also when a scope below resolves the key
   * @returns this container
   * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: the key is no string, symbol or class, or the factory no function; `AMBIT_DISPOSED`:
   *   the scope is disposed
   */
  register<const K extends Key>(key: Listed<K>, factory: Factory<Delivered<K>>): this;
  register(key: Key, factory: Factory): this {
    if (this.closed) refuseDisposed(this, 'register', key);
    if (typeof key !== 'string') checkKey(key, 'register');
    if (typeof factory !== 'function')
      checkFunction(factory, 'register', 'a function: register(key, () => value)', key);
    register(this, key, factory);
    return this;
  }

  /**
   * Opens a child scope, for example for a request. Dispose it when the request is finished.
   *
   * @param options - the tags of the scope. Default: none
   * @returns the child scope
   * @throws `ContainerError` `AMBIT_DISPOSED`: this scope is disposed; `AMBIT_BAD_TAGS`: the tags are not a list of strings
   */
  createScope({ tags = [] }: ScopeOptions = {}): Container {
    if (this.closed) refuseDisposed(this, 'createScope');
    const scope = new Container(undefined, undefined, this, this.shape.child(tags));
    const { newest } = this;
    if (newest) newest.newer = scope;
    scope.older = newest;
    this.newest = scope;
    if (scopeOpened.hasSubscribers) scopeOpened.publish({ scope });
    return scope;
  }

  /**
   * Whether the key is registered for this scope, here or above. A class needs no registration. Does not check the dependencies.
   *
   * @param key - the key to look for
   * @returns false where `resolve` would throw `AMBIT_NOT_REGISTERED` or `AMBIT_OUT_OF_SCOPE` for the key itself
   */
  has(key: Key): boolean {
    return this.shape.resolvers.has(key) || place(this.shape, key) !== undefined || directly(this, key).length > 0;
  }

  /**
   * Delivers the service for the key: the instance that its owner keeps, or a new one. What a constructor or factory throws is not wrapped.
   *
   * @param key - a string, a symbol, or a class, which needs no registration
   * @returns the instance; its type follows from the class, from `ServiceMap`, or from the type argument
   * @throws `ContainerError` `AMBIT_NOT_REGISTERED`: no registration has this key, or that of a dependency; `AMBIT_OUT_OF_SCOPE`: it is for
   *   scopes with another tag; `AMBIT_CYCLE`: circular dependency; `AMBIT_CAPTIVE_DEPENDENCY`: captive dependency; `AMBIT_NO_KEY_FOR_PARAMETER`:
   *   a constructor parameter has neither key nor default; `AMBIT_DISPOSED`: the scope is disposed
   */
  resolve<K extends KnownKey>(key: K): ServiceMap[K];
  resolve<C extends AbstractClass>(key: C): InstanceType<C>;
  resolve<T = unknown, const K extends Keyed<T> = Keyed<T>>(key: Listed<K>): T;
  resolve(key: Key): unknown {
    if (this.closed) refuseDisposed(this, 'resolve', key);
    const { often, resolvers } = this.shape;
    if (key === often.key1) return often.get1(this);
    if (key === often.key2) return often.get2(this);
    if (key === often.key3) return often.get3(this);
    if (key === often.key4) return often.get4(this);
    return (resolvers.get(key) ?? resolverFor(this, key))(this);
  }

  /**
   * Delivers every service registered under the key: those of the outermost scope first, then in the order of registration.
   *
   * @param key - a string, a symbol or a class. A class counts only if it is registered
   * @returns the instances that apply in this scope; empty if there are none
   * @throws `ContainerError`: as `resolve`, except that a key without a registration is no error
   */
  resolveAll<K extends KnownKey>(key: K): ServiceMap[K][];
  resolveAll<C extends AbstractClass>(key: C): InstanceType<C>[];
  resolveAll<T = unknown, const K extends Keyed<T> = Keyed<T>>(key: Listed<K>): T[];
  resolveAll(key: Key): unknown {
    if (this.closed) refuseDisposed(this, 'resolveAll', key);
    return (this.shape.collections.get(key) ?? collectionFor(this, key))(this);
  }

  /**
   * Adds a cleanup callback. It runs when this scope is disposed, in turn with its instances: the newest first.
   *
   * @param work - the callback; receives the reason of `dispose(reason)`, and the disposal awaits its promise
   * @throws `ContainerError` `AMBIT_DISPOSED`: the scope is disposed
   */
  defer(work: (reason: unknown) => unknown): void {
    if (this.closed) refuseDisposed(this, 'defer');
    keep(this, DEFERRED, work);
  }

  /**
   * Makes the singletons that have `onStart`, and calls their callbacks, dependencies first. Await it before you accept requests.
   *
   * @throws `ContainerError` `AMBIT_START_FAILED`: a callback threw, or an async factory rejected; `AMBIT_DISPOSED`: the scope is disposed.
   *   Like `resolve` where a singleton cannot be made
   */
  start(): Promise<void> {
    refuseDisposed(this, 'start');
    return start(this);
  }

  /**
   * Disposes the scopes below, then this scope's instances, the newest first. From the call on the scope refuses every use.
   * A disposer here or below, or an `onStart`, must not await it: it would wait for itself.
   *
   * @param reason - why the work of this scope failed. It is passed to each disposer and cleanup callback, also of the scopes below, so that
   *   they may discard in place of saving. Without it, nothing is known to have failed. That of the first call counts
   * @returns the same promise at each call
   * @throws `DisposeError` `AMBIT_DISPOSE_FAILED`: some disposers failed; all other instances have been disposed
   */
  dispose(reason?: unknown): Promise<void> {
    if (this.closed) return promiseOf(this);
    if (this.newest || this.kept || this.rare?.starting || progress.resolving > 0) return dispose(this, reason);
    this.closed = 1;
    this.disposal = NOTHING_TO_DISPOSE;
    this.leave();
    return NOTHING_TO_DISPOSE;
  }

  /** @internal Takes this scope, which is disposed, out of its parent. */
  leave(): void {
    this.closed = 2;
    const { parent, older, newer } = this;
    if (newer) newer.older = older;
    else if (parent) parent.newest = older;
    if (older) older.newer = newer;
    this.older = this.newer = undefined;
    if (scopeClosed.hasSubscribers) scopeClosed.publish({ scope: this });
  }

  /**
   * The same as `dispose()`, for `await using`.
   *
   * @throws `DisposeError` `AMBIT_DISPOSE_FAILED`: some disposers failed
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /**
   * @internal Keeps `JSON.stringify` from printing the whole application.
   */
  toJSON(): string {
    return `Container ${showTags(this.shape.lineage)}`;
  }

  /**
   * @internal Keeps `console.log` from printing it.
   */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toJSON();
  }
}

/** Starts what has `onStart`, once the start in progress is over. */
function start(app: Scope): Promise<void> {
  const before = app.rare?.starting?.promise;
  const starting = { key: '' } as Starting;
  rare(app).starting = starting;
  // The caller gets this very promise, so a failure that nobody awaits is an unhandled rejection.
  starting.promise = startAll(app, starting, before).finally(() => {
    if (rare(app).starting === starting) rare(app).starting = undefined;
  });
  return starting.promise;
}

/** Calls `onStart` in the order in which the instances were made: dependencies first. */
async function startAll(app: Scope, starting: Starting, before: Promise<void> | undefined): Promise<void> {
  await before;
  refuseDisposed(app, 'start');
  makeAll(app);
  const { rejected } = rare(app);
  if (rejected) throw failed(app, rejected.key, rejected.cause);
  const made: Kept[] = [];
  for (let kept = app.kept; kept; kept = kept.before) made.push(kept);
  for (const kept of made.toReversed()) {
    const { key, onStart = [] } = kept.binding;
    starting.key = key;
    const attempt = async (act: () => unknown): Promise<void> => {
      refuseDisposed(app, 'start');
      try {
        await act();
      } catch (cause) {
        throw failed(app, key, cause);
      }
    };
    // An async factory is still running.
    if (isPromise(kept.instance)) await attempt(() => kept.instance);
    for (const { act, layer } of onStart.slice(kept.started)) {
      await attempt(() => (act as (instance: unknown) => unknown)(kept.layers ? kept.layers[layer] : kept.instance));
      // Counted after success only: the next start begins with the callback that failed.
      kept.started++;
    }
  }
}

function failed(app: Scope, key: Key, cause: unknown): ContainerError {
  // Reported once.
  rare(app).rejected = undefined;
  const hint = 'fix the cause; dispose() disposes what has been made';
  return new ContainerError('AMBIT_START_FAILED', { key, tags: app.shape.lineage, cause, hint });
}

/** Makes each registration with `onStart` whose instance belongs to this scope, also where several have one key. */
function makeAll(app: Scope): void {
  const { shape } = app;
  const keys = new Set<Key>();
  // A registration above may be for this scope. Most have no `onStart`, and looking for their places would take long.
  for (const { bindings } of shape.upward())
    for (const [key, all] of bindings) if (all.some(({ onStart }) => onStart)) keys.add(key);
  for (const key of keys)
    for (const found of places(shape, key).toReversed())
      if (found.owner === shape && found.binding.onStart) makeAt(app, key, found);
}
