import type { Binding } from './binding.js';
import type { Factory, IContainer } from './contract.js';
import { dispose, leave, NOTHING_TO_DISPOSE, promiseOf } from './disposal.js';
import { checkedTags, checkFunction, checkKey, refuse, show, showTags } from './errors.js';
import { MetadataInjector, type Injector } from './inject.js';
import { DEFERRED, keep } from './keeping.js';
import type { AbstractClass, Delivered, Key, Keyed, KnownKey, Listed, ServiceMap } from './keys.js';
import { place } from './places.js';
import { Plans } from './plans.js';
import { add, directly, register } from './registering.js';
import type { Bound } from './registration.js';
import { collectionFor, resolverFor } from './resolvers.js';
import { refuseDisposed } from './scope.js';
import { Shape } from './shape.js';
import { start } from './start.js';
import { NEAR, scopeOpened, tenths, type Disposal, type Kept, type Rare } from './state.js';
import { progress } from './tracing.js';

export interface ScopeOptions {
  /** What the scope is for, such as `request`; predicates of registrations look at these. */
  readonly tags?: readonly string[];
}

/**
 * A scope: it makes instances, keeps those that are its own, and ends them. The application's container is the outermost scope.
 *
 * @example
 * ```ts
 * const app = new Container(new MetadataInjector(), { tags: ['application'] });
 * app.addRegistration(Registration.fromFactory(() => new Date()).pipe(singleton(), scope(hasTag('request'))).to('IStart'));
 *
 * await using request = app.createScope({ tags: ['request'] });
 * request.resolve<Date>('IStart');
 * ```
 */
export class Container implements IContainer, AsyncDisposable {
  /** @internal */ shape: Shape;
  /** @internal What was made, by slot, or the factory that was registered. */ slots: unknown[];
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

  constructor(options?: ScopeOptions);
  constructor(injector?: Injector, options?: ScopeOptions);
  /** @internal */ constructor(injector: undefined, options: undefined, parent: Container, shape: Shape);
  constructor(first?: Injector | ScopeOptions, second?: ScopeOptions, parent?: Container, shape?: Shape) {
    this.parent = parent;
    this.shape = shape ?? rootShape(first, second);
    // oxlint-disable-next-line no-new-array -- room for so many, which no other way of writing it gives
    this.slots = new Array<unknown>(Math.min(this.shape.slots.size, NEAR));
  }

  /** The scope around this one. */
  readonly parent: Container | undefined;

  get tags(): readonly string[] {
    return this.shape.tags;
  }

  hasTag(tag: string): boolean {
    return this.shape.hasTag(tag);
  }

  /** True from the call of `dispose()` on, of this scope or one around it. */
  get disposed(): boolean {
    return this.closed > 0;
  }

  /** Adds registrations to this scope and, as far as their predicates allow, to all below it. */
  addRegistration<R extends readonly unknown[]>(...registrations: R & Bound<R>): this {
    refuseDisposed(this, 'addRegistration');
    for (const binding of registrations as readonly (Binding | undefined)[])
      if (!binding?.source) refuse(`addRegistration got ${show(binding)}`, 'complete each registration with .to(key)');
    add(this, registrations);
    return this;
  }

  /** Binds a key on this one scope, to what the factory returns each time. The container neither keeps nor disposes that. */
  register<const K extends Key>(key: Listed<K>, factory: Factory<Delivered<K>>): this;
  register(key: Key, factory: Factory): this {
    refuseDisposed(this, 'register', key);
    checkKey(key, 'register');
    checkFunction(factory, 'register', 'a function: register(key, () => value)', key);
    register(this, key, factory);
    return this;
  }

  /** Opens a child scope. Dispose it when its work is done. */
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

  /** Whether the key is bound here or above, so that `resolve` finds it. Says nothing about what it needs. */
  has(key: Key): boolean {
    return this.shape.resolvers.has(key) || place(this.shape, key) !== undefined || directly(this, key).length > 0;
  }

  /** The instance bound to the key, as seen from this scope. */
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

  /** Every service bound to the key: outermost scope first, then in the order of registration. */
  resolveAll<K extends KnownKey>(key: K): ServiceMap[K][];
  resolveAll<C extends AbstractClass>(key: C): InstanceType<C>[];
  resolveAll<T = unknown, const K extends Keyed<T> = Keyed<T>>(key: Listed<K>): T[];
  resolveAll(key: Key): unknown {
    if (this.closed) refuseDisposed(this, 'resolveAll', key);
    return (this.shape.collections.get(key) ?? collectionFor(this, key))(this);
  }

  /** Runs `work` when this scope is disposed, in turn with its instances: the newest first. */
  defer(work: () => unknown): void {
    refuseDisposed(this, 'defer');
    keep(this, DEFERRED, work);
  }

  /** Makes what has `onStart`, and starts all that was made, dependencies first. Await it before you serve. */
  start(): Promise<void> {
    refuseDisposed(this, 'start');
    return start(this);
  }

  /**
   * Disposes the scopes below, then this scope's instances, the newest first. Serves nothing from this moment on.
   * What it waits for must not await it: a disposer here or below, or an `onStart`.
   */
  dispose(): Promise<void> {
    if (this.closed) return promiseOf(this);
    if (this.newest || this.kept || this.rare?.starting || progress.resolving > 0) return dispose(this);
    this.closed = 1;
    this.disposal = NOTHING_TO_DISPOSE;
    leave(this);
    return NOTHING_TO_DISPOSE;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** Keeps `console.log` from printing the whole application. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Container ${showTags(this.shape.lineage)}`;
  }
}

function rootShape(injectorOrOptions: Injector | ScopeOptions | null | undefined, second?: ScopeOptions): Shape {
  const first = injectorOrOptions ?? {};
  const injector = 'dependencies' in first ? first : undefined;
  const { tags = [] } = second ?? (injector ? {} : (first as ScopeOptions));
  return new Shape(undefined, checkedTags(tags), new Plans(injector ?? new MetadataInjector()), true);
}
