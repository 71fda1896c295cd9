import { collectionFor, resolverFor } from './compile.js';
import type { Factory, IContainer } from './contract.js';
import {
  checkFunction,
  checkKey,
  ContainerError,
  DisposeError,
  type Failure,
  hintOf,
  refuse,
  show,
  showTags,
} from './errors.js';
import { instanceDisposed, scopeClosed, scopeOpened } from './events.js';
import type { Injector } from './inject.js';
import type { AbstractClass, Delivered, Key, Keyed, KnownKey, Listed, ServiceMap } from './keys.js';
import { findDisposer, keepLayers, noteGiven } from './ownership.js';
import { add, directResolvers } from './registering.js';
import type { Binding, Bound, Registered } from './registration.js';
import {
  BUSY,
  type ContainerOptions,
  isPromise,
  isThenable,
  NEAR,
  type Page,
  progress,
  type ScopeOptions,
  Shape,
} from './shape.js';
import { start } from './start.js';
import { settlesWithin, timeLimit, type TimeLimit } from './time-limit.js';

/** An instance to dispose or to start; a list of these goes from the newest to the oldest. */
export interface KeptInstance {
  readonly binding: Binding;
  /** The object to dispose: the instance, the result of a decorator, or the result of a promise. */
  instance: unknown;
  /** The instance, and the result of each decorator; undefined where that is `instance` alone. */
  readonly layers: readonly unknown[] | undefined;
  previous: KeptInstance | undefined;
  /** True if this scope disposes it: nobody else does. */
  owned: boolean;
  /** The number of `onStart` callbacks that have completed. */
  started: number;
}

/** A start in progress, and the key of the service that is being started. */
export interface Starting {
  promise: Promise<void>;
  key: Key;
}

/** The disposal of a scope that waits for others, or that others wait for. */
interface Disposal {
  promise: Promise<void> | undefined;
  /** Settles a promise that was returned before the disposal had one. */
  settlePromise: ((failures: readonly Failure[]) => void) | undefined;
  /** Resolves when it is done, and never rejects; undefined where nobody waits for it. */
  finished: Promise<unknown> | undefined;
  done: boolean;
  /** The failures of this scope, without those of the scopes below. */
  failures: readonly Failure[];
  readonly children: Disposal[];
}

/** State that few scopes have, so that the others stay small. */
interface RareState {
  pages: Page | undefined;
  /** The factories and values registered on this scope directly. Its shape names only the keys that something may depend on. */
  registered: Map<Key, Binding> | undefined;
  starting: Starting | undefined;
  /** An index of the older part of the list of instances. */
  index: { readonly objects: Set<unknown>; to: KeptInstance | undefined } | undefined;
  /** The last async factory that failed and has not succeeded since; `start()` reports it. */
  rejected: { readonly key: Key; readonly cause: unknown } | undefined;
  /** Objects that factories received from outside of the container. */
  given: WeakSet<object> | undefined;
  /** The stack of the call that opened it, while `trackScopes()` is on. */
  openedBy?: string;
}

/** Work given to `defer` is kept like an instance. Its key is for errors and events. */
const DEFERRED: Binding = {
  key: Symbol('work given to defer()'),
  source: { kind: 'class', target: Object },
  onDispose: [{ layer: 0, act: (work, reason) => (work as (reason: unknown) => unknown)(reason) }],
};

/** Shared by all scopes that have nothing to dispose. */
const NOTHING_TO_DISPOSE: Promise<void> = Promise.resolve();

/**
 * A scope: it makes instances, keeps those that it owns, and disposes them. The application's container is the outermost scope.
 *
 * @example
 * ```ts
 * const { make, build } = lifetimes('application', 'request');
 * const graph = build({ IStart: make('request', () => new Date()) });
 * const app = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
 *
 * await using request = app.createScope({ tags: ['request'] });
 * request.resolve<Date>('IStart');
 * ```
 */
export class Container implements IContainer, AsyncDisposable {
  /** @internal */ shape: Shape;
  /** @internal The instances, by slot. */ slots: unknown[];
  /** @internal */ rare: RareState | undefined = undefined;
  /** @internal 1 while it is disposed, 2 when that is over. */ closed: 0 | 1 | 2 = 0;
  /** @internal In progress or done; only a promise where nobody else waits. */
  disposal: Disposal | Promise<void> | undefined = undefined;
  /** @internal The newest of the instances to dispose or to start. */ latest: KeptInstance | undefined = undefined;
  /** @internal The open scopes below are a list: the newest, the one older than it, and so on. */
  newest: Container | undefined = undefined;
  /** @internal */ older: Container | undefined = undefined;
  /** @internal */ newer: Container | undefined = undefined;

  /**
   * Makes the outermost scope. The child scopes come from `createScope()`.
   *
   * @param options - the tags of the container. Default: none
   * @throws `ContainerError` `AMBIT_OPTION`: the tags are not a list of strings
   */
  constructor(options?: ContainerOptions);
  /**
   * Makes the outermost scope, with another way to read the dependencies of classes.
   *
   * @param injector - lists the dependencies of a class whose registration does not. Default: a {@link MetadataInjector}
   * @param options - the tags of the container. Default: none
   * @throws `ContainerError` `AMBIT_OPTION`: the tags are not a list of strings
   */
  constructor(injector?: Injector, options?: ContainerOptions);
  /** @internal */ constructor(injector: undefined, options: undefined, parent: Container, shape: Shape);
  constructor(first?: Injector | ContainerOptions, second?: ContainerOptions, parent?: Container, shape?: Shape) {
    this.parent = parent;
    this.shape = shape ?? Shape.outermost(first, second);
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
   * Tells if this scope itself has the tag; those of the scopes around it do not count.
   *
   * @param tag - the tag, such as `request`
   * @returns true if the tag is one of {@link Container.tags}
   */
  hasTag(tag: string): boolean {
    return this.tags.includes(tag);
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
    this.refuseDisposed('addRegistration');
    for (const binding of registrations as readonly (Binding | undefined)[])
      if (!binding?.source) refuse(`addRegistration got ${show(binding)}`, 'complete each registration with .to(key)');
    add(this, registrations);
    return this;
  }

  /**
   * Registers a factory directly on this scope. It is called once, at the first `resolve` here or below; the scope keeps the result, and
   * does not dispose it.
   *
   * @param key - what this scope and those below it resolve it by. A second call with the key replaces the factory
   * @param factory - makes the value; receives this scope, also when a scope below resolves the key
   * @returns this container
   * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: the key is no string, symbol or class, or the factory no function; `AMBIT_DISPOSED`:
   *   the scope is disposed
   */
  register<const K extends Key>(key: Listed<K>, factory: Factory<Delivered<K>>): this;
  register(key: Key, factory: Factory): this {
    if (this.closed) this.refuseDisposed('register', key);
    if (typeof key !== 'string') checkKey(key, 'register');
    checkFunction(factory, 'register', 'a function: () => value', key);
    const { shape, rare } = this;
    const last = shape.exclusive ? shape.bindings.get(key)?.at(-1) : rare?.registered?.get(key);
    const binding: Binding = { key, source: { kind: 'register', factory, result: undefined } };
    if (last?.source.kind === 'register') last.source = binding.source;
    else if (shape.exclusive || last) add(this, [binding]);
    else this.addDirectly(binding);
    return this;
  }

  /**
   * Opens a child scope, for example for a request. Dispose it when the request is finished.
   *
   * @param options - the tags of the scope, and services of its own. Default: none
   * @returns the child scope
   * @throws `ContainerError` `AMBIT_DISPOSED`: this scope is disposed; `AMBIT_OPTION`: the tags are not a list of strings;
   *   `AMBIT_BAD_REGISTRATION`: one of the services is no function
   */
  createScope({ tags = [], services }: ScopeOptions = {}): Container {
    if (this.closed) this.refuseDisposed('createScope');
    const scope = new Container(undefined, undefined, this, this.shape.child(tags, services));
    const { newest } = this;
    if (newest) newest.newer = scope;
    scope.older = newest;
    this.newest = scope;
    if (scopeOpened.hasSubscribers) scopeOpened.publish({ scope });
    return scope;
  }

  /**
   * Tells if the key is registered for this scope, here or above. A class needs no registration. Does not check the dependencies.
   *
   * @param key - the key to look for
   * @returns false where `resolve` would throw `AMBIT_NOT_REGISTERED` or `AMBIT_OUT_OF_SCOPE` for the key itself
   */
  has(key: Key): boolean {
    return (
      this.shape.resolvers.has(key) || this.shape.match(key) !== undefined || directResolvers(this, key).length > 0
    );
  }

  /**
   * Delivers the service for the key: the instance that its owner keeps, or a new one. What a constructor or factory throws is not wrapped.
   *
   * @param key - a string, a symbol, or a class, which needs no registration
   * @returns the instance; its type follows from the class, from `ServiceMap`, or from the type argument
   * @throws `ContainerError` `AMBIT_NOT_REGISTERED`: no registration has this key, or that of a dependency; `AMBIT_OUT_OF_SCOPE`: it is for
   *   scopes with another tag; `AMBIT_CYCLE`: circular dependency; `AMBIT_CAPTIVE_DEPENDENCY`: captive dependency;
   *   `AMBIT_NO_KEY_FOR_PARAMETER`: a constructor parameter has neither key nor default; `AMBIT_DISPOSED`: the scope is disposed
   */
  resolve<K extends KnownKey>(key: K): ServiceMap[K];
  resolve<C extends AbstractClass>(key: C): InstanceType<C>;
  resolve<T = unknown, const K extends Keyed<T> = Keyed<T>>(key: Listed<K>): T;
  resolve(key: Key): unknown {
    if (this.closed) this.refuseDisposed('resolve', key);
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
    if (this.closed) this.refuseDisposed('resolveAll', key);
    return (this.shape.collections.get(key) ?? collectionFor(this, key))(this);
  }

  /**
   * Adds a cleanup callback. It runs when this scope is disposed, in turn with its instances: the newest first.
   *
   * @param work - the callback; receives the reason of `dispose(reason)`, and the disposal awaits its promise
   * @throws `ContainerError` `AMBIT_DISPOSED`: the scope is disposed
   */
  defer(work: (reason: unknown) => unknown): void {
    this.refuseDisposed('defer');
    this.keep(DEFERRED, work);
  }

  /**
   * Makes the singletons that have `onStart`, and calls their callbacks, dependencies first. Await it before you accept requests.
   *
   * @throws `ContainerError` `AMBIT_START_FAILED`: a callback threw, or an async factory rejected; `AMBIT_DISPOSED`: the scope is disposed.
   *   The errors of `resolve` where a singleton cannot be made
   */
  start(): Promise<void> {
    this.refuseDisposed('start');
    return start(this);
  }

  /**
   * Disposes the scopes below, then this scope's instances, the newest first. From the call on the scope refuses every use.
   * A disposer here or below, or an `onStart`, must not await it: it would wait for itself.
   *
   * @param reason - why the work of this scope failed. It is passed to each disposer and cleanup callback, also of the scopes below, so
   *   that they may discard in place of saving. Without it, nothing is known to have failed. That of the first call counts
   * @returns the same promise at each call
   * @throws `DisposeError` `AMBIT_DISPOSE_FAILED`: some disposers failed; all other instances have been disposed
   */
  dispose(reason?: unknown): Promise<void> {
    if (this.closed) return promiseOf(this);
    if (this.newest || this.latest || this.rare?.starting || progress.resolving > 0) return disposeTree(this, reason);
    this.closed = 1;
    this.disposal = NOTHING_TO_DISPOSE;
    this.leave();
    return NOTHING_TO_DISPOSE;
  }

  /** @internal */
  rareState(): RareState {
    return (this.rare ??= {
      pages: undefined,
      registered: undefined,
      starting: undefined,
      index: undefined,
      rejected: undefined,
      given: undefined,
    });
  }

  /** @internal Throws if the scope is disposed. */
  refuseDisposed(doing: string, key?: Key): void {
    if (!this.closed) return;
    throw new ContainerError('AMBIT_DISPOSED', {
      key,
      about: `${doing}(${key === undefined ? '' : show(key)})`,
      tags: this.shape.lineage,
      hint:
        hintOf(key, `${doing} disposed`) ??
        'something outlived it: await all its work before dispose(), or use a scope with a longer lifetime',
    });
  }

  /** @internal This scope, then each scope below it behind its parent. A loop, as scopes may nest deeper than calls. */
  tree(): Container[] {
    const all: Container[] = [];
    const open: Container[] = [this];
    for (let at = open.pop(); at; at = open.pop()) {
      all.push(at);
      for (let child = at.newest; child; child = child.older) open.push(child);
    }
    return all;
  }

  /** @internal Registers on this scope alone; the shape that it shares with others changes only where something may depend on the key. */
  addDirectly(binding: Binding): void {
    const { key } = binding;
    (this.rareState().registered ??= new Map<Key, Binding>()).set(key, binding);
    if (this.shape.knows(key) || (this.newest && this.tree().some(({ shape }) => shape.bindings.has(key))))
      this.takeShape(this.shape.withRegistered(key));
  }

  /** @internal Gives the scope another shape, and the scopes below it the shapes that follow from that. */
  takeShape(shape: Shape): void {
    const replaced = new Map([[this.shape, shape]]);
    this.shape = shape;
    if (!this.newest) return;
    for (const scope of this.tree().slice(1)) {
      let follower = replaced.get(scope.shape);
      if (!follower) replaced.set(scope.shape, (follower = scope.shape.withParent((scope.parent as Container).shape)));
      scope.shape = follower;
    }
  }

  /** @internal Resolves what was registered directly: the value, or the result of the factory for the scope it was registered on. */
  callRegistered({ source }: Binding): unknown {
    const made = source.kind === 'value' ? source.value : callOnce(this, source as Registered);
    return progress.running?.before ? noteGiven(this, made) : made;
  }

  /** @internal Keeps an instance to dispose or to start. */
  keep(binding: Binding, instance: unknown): void {
    // A class makes a new object, so nobody else can own it.
    if (binding.source.kind !== 'class') return keepLayers(this, binding, [instance]);
    this.enter(binding, instance, undefined, !binding.externallyOwned);
    if (this.closed && !this.isWaiting) this.refuseDisposed('resolve', binding.key);
  }

  /** @internal */
  enter(binding: Binding, instance: unknown, layers: KeptInstance['layers'], isOwned: boolean): KeptInstance {
    const owned = isOwned || binding.onDispose !== undefined;
    return (this.latest = { binding, instance, layers, previous: this.latest, owned, started: 0 });
  }

  /**
   * @internal Whether the scope, which is disposed, waits for the scopes below it: they may need instances of it, so it still makes them.
   */
  get isWaiting(): boolean {
    return this.closed === 1 && this.newest !== undefined;
  }

  /** @internal Takes this scope, which is disposed, out of its parent. */
  leave(): void {
    this.closed = 2;
    const { parent, older, newer, shape } = this;
    if (newer) newer.older = older;
    else if (parent) parent.newest = older;
    if (older) older.newer = newer;
    this.older = this.newer = undefined;
    // The shapes below it, which are kept for reuse, hold what was registered here.
    if (shape.exclusive) shape.reset();
    if (scopeClosed.hasSubscribers) scopeClosed.publish({ scope: this });
  }

  /**
   * Calls `dispose()`, for `await using`.
   *
   * @throws `DisposeError` `AMBIT_DISPOSE_FAILED`: some disposers failed
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** @internal The services that it was opened with: hosts see whether `createScope()` took theirs. */
  get services(): ScopeOptions['services'] {
    return this.shape.services;
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

/** The result of a factory that was registered directly: all that ask for it in the scope and below get the same one. */
function callOnce(scope: Container, source: Registered): unknown {
  if (source.result === undefined) {
    const result = (source.result = source.factory(scope));
    // The next `resolve` tries again.
    if (isPromise(result)) result.then(undefined, () => source.result === result && (source.result = undefined));
  }
  return source.result;
}

// The time that a disposal waits for what is still being made or started: what hangs must not keep the process alive.
const LIMIT_MS = 5000;

const no = () => false;

function disposalOf(scope: Container): Disposal {
  const { disposal } = scope;
  if (disposal && !(disposal instanceof Promise)) return disposal;
  return (scope.disposal = {
    promise: disposal,
    settlePromise: undefined,
    finished: undefined,
    done: false,
    failures: [],
    children: [],
  });
}

/** The promise of a disposal in progress or done; an instance may ask for it while it is disposed. */
function promiseOf(scope: Container): Promise<void> {
  if (scope.disposal instanceof Promise) return scope.disposal;
  const disposal = disposalOf(scope);
  return (disposal.promise ??= new Promise((resolve, reject) => {
    disposal.settlePromise = (failures) => (failures[0] ? reject(new DisposeError(failures)) : resolve());
    if (disposal.done) disposal.settlePromise(allFailures(disposal));
  }));
}

/** Disposes the scopes below, then the scope's own instances; every one is tried, and the failures come together. */
function disposeTree(scope: Container, reason: unknown): Promise<void> {
  if (!scope.newest) {
    scope.closed = 1;
    const work = disposeInstances(scope, reason, true);
    // A disposer may have asked for the promise before there was one.
    scope.disposal ??= work;
    return promiseOf(scope);
  }
  const promise = promiseOf(scope);
  // The scope after all those below it, the newest of these first.
  const open = scope
    .tree()
    .filter(({ closed }) => !closed)
    .toReversed();
  for (const at of open) {
    // From now on this scope and all below it refuse every use.
    at.closed = 1;
    for (let child = at.newest; child; child = child.older) disposalOf(at).children.push(disposalOf(child));
  }
  for (const at of open) {
    const unfinished: unknown[] = [];
    for (let child = at.newest; child; child = child.older)
      unfinished.push(disposalOf(child).finished ?? promiseOf(child).then(no, no));
    disposalOf(at).finished = unfinished[0]
      ? Promise.all(unfinished).then(() => disposeInstances(at, reason))
      : disposeInstances(at, reason);
  }
  return promise;
}

/** True if the scope is making something right now. */
function isMaking(scope: Container): boolean {
  for (let page = scope.rare?.pages; page; page = page.next) if (page.cells.includes(BUSY)) return true;
  return scope.slots.includes(BUSY);
}

/** Awaits only where there is something to wait for: what is disposed at once has been disposed when `dispose()` returns. */
async function disposeInstances(scope: Container, reason: unknown, isAlone = false): Promise<void> {
  let failures: Failure[] | undefined;
  // A constructor that disposes its own scope gets its instance disposed as well.
  if (progress.resolving > 0 && isMaking(scope)) await Promise.resolve();
  let limit: TimeLimit | undefined;
  if (scope.rare?.starting) {
    const { promise, key } = scope.rare.starting;
    limit = timeLimit(LIMIT_MS);
    if (!(await settlesWithin(limit, promise))) failures = [failureOf(scope, key, late(key, 'onStart'))];
  }
  for (let kept = scope.latest; kept; kept = scope.latest) {
    scope.latest = kept.previous;
    const { key, onDispose } = kept.binding;
    let failure: Failure | undefined;
    for (let i = 0; i < (onDispose?.length ?? Number(kept.owned)); i++)
      try {
        const { instance } = kept;
        // An async factory is running.
        if (isPromise(instance) && !(await settlesWithin((limit ??= timeLimit(LIMIT_MS)), instance))) {
          const made = kept;
          // Nobody waits for a failure of this disposer any more.
          void instance.then(() => callDisposer(made, i, reason)).then(no, no);
          throw late(key, 'factory');
        }
        const disposing = callDisposer(kept, i, reason);
        if (isThenable(disposing)) await disposing;
      } catch (error) {
        failure = failureOf(scope, key, error);
        (failures ??= []).push(failure);
      }
    if (instanceDisposed.hasSubscribers)
      instanceDisposed.publish({ scope, key, ...(failure && { error: failure.error }) });
  }
  if (limit) clearTimeout(limit.timer as number);
  scope.leave();
  const { disposal } = scope;
  if (disposal && !(disposal instanceof Promise)) {
    disposal.done = true;
    disposal.failures = failures ?? [];
    disposal.settlePromise?.(allFailures(disposal));
    if (!isAlone || disposal.settlePromise) return;
  }
  if (failures) throw new DisposeError(failures);
}

function failureOf({ shape }: Container, key: Key, error: unknown): Failure {
  return {
    key,
    error,
    // Computed on demand, because thousands of nested scopes may fail together.
    get tags() {
      return shape.lineage;
    },
  };
}

/** The failures of a disposal and of those below, in the order in which they were disposed. */
function allFailures(disposal: Disposal): Failure[] {
  const failures: Failure[] = [];
  const open: (Disposal | readonly Failure[])[] = [disposal];
  for (let last = open.pop(); last; last = open.pop())
    if ('children' in last) {
      open.push(last.failures);
      for (const child of last.children.toReversed()) open.push(child);
    } else for (const failure of last) failures.push(failure);
  return failures;
}

const late = (key: Failure['key'], what: string): ContainerError =>
  new ContainerError('AMBIT_START_FAILED', { key, hint: `its ${what} was still running after ${LIMIT_MS} ms` });

type DisposalHook = (object: unknown, reason?: unknown) => unknown;

/** Calls a callback of the registration, or the object's own disposer. A disposal without a failure passes no second argument, not even undefined. */
function callDisposer({ binding, instance, layers }: KeptInstance, i: number, reason: unknown): unknown {
  const hook = binding.onDispose?.[i];
  if (hook) {
    const act = hook.act as DisposalHook;
    const layer = layers ? layers[hook.layer] : instance;
    return reason === undefined ? act(layer) : act(layer, reason);
  }
  const disposer = findDisposer(instance);
  return reason === undefined ? disposer?.call(instance) : disposer?.call(instance, reason);
}
