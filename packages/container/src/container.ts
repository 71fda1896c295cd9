import { tenths } from './age.js';
import { checkedTags, checkFunction, checkKey, refuse, refuseEnded } from './checks.js';
import { resolverFor } from './compile.js';
import type { Factory, IContainer } from './contract.js';
import { show, showTags } from './errors.js';
import { scopeOpened } from './events.js';
import { MetadataInjector, type Injector } from './inject.js';
import { All, type AbstractClass, type Delivered, type Key, type KnownKey, type ServiceMap } from './keys.js';
import { end, leave, NOTHING_TO_END, promiseOf, type Ending } from './ending.js';
import { DEFERRED, keep, start, type Kept } from './keeping.js';
import type { Binding } from './registration.js';
import { Shape } from './shape.js';
import { traced } from './tracing.js';
import { handed, trail } from './trail.js';

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
  /** @internal */ slots: unknown[];
  /** @internal */ closed = false;
  /** @internal */ ending: Ending | undefined = undefined;
  /** @internal */ starting: Promise<void> | undefined = undefined;
  /** @internal What is to be ended, the newest first. */ kept: Kept | undefined = undefined;
  /** @internal The live children are a list: the newest, the one older than it, and so on. */ newest:
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
    this.slots = new Array<unknown>(Math.min(this.shape.size, MOST_SLOTS_AHEAD));
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
    return this.closed;
  }

  /** Adds registrations to this scope and, as far as their predicates allow, to all below it. */
  addRegistration(...registrations: readonly Binding[]): this {
    refuseEnded(this, 'addRegistration');
    for (const binding of registrations)
      if (!binding || !('key' in binding))
        refuse(`addRegistration got ${show(binding)}`, 'end each registration with .to(key)');
    this.move(this.shape.with(registrations));
    return this;
  }

  /** Binds a key on this one scope, to what the factory returns each time. The container neither keeps nor ends that. */
  register<const K extends Key>(key: K, factory: Factory<Delivered<K>>): this {
    refuseEnded(this, 'register', key);
    checkKey(key, 'register');
    checkFunction(factory, 'register', 'a function: register(key, () => value)', key);
    const { shape, slot } = this.shape.learn(key);
    this.move(shape);
    this.slots[slot] = factory;
    return this;
  }

  /** Opens a child scope. Dispose it when its work is done. */
  createScope({ tags = [] }: ScopeOptions = {}): Container {
    refuseEnded(this, 'createScope');
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
    return this.shape.resolvers.has(key) || this.shape.place(key) !== undefined;
  }

  /** The instance bound to the key, as seen from this scope. */
  resolve<K extends KnownKey>(key: K): ServiceMap[K];
  resolve<T>(key: AbstractClass<T>): T;
  resolve<T = unknown>(key: string | symbol): T;
  resolve(key: Key): unknown {
    if (this.closed) refuseEnded(this, 'resolve', key);
    const { shape } = this;
    const got = traced(this, key, shape.resolvers.get(key) ?? resolverFor(shape, key, key, shape.resolvers));
    if (handed.factories > 0 && !shape.makesAnew(key)) handed.things.push(got);
    return got;
  }

  /** Every service bound to the key: outermost scope first, then in the order of registration. */
  resolveAll<K extends KnownKey>(key: K): ServiceMap[K][];
  resolveAll<T>(key: AbstractClass<T>): T[];
  resolveAll<T = unknown>(key: string | symbol): T[];
  resolveAll(key: Key): unknown {
    if (this.closed) refuseEnded(this, 'resolveAll', key);
    const { shape } = this;
    const get = shape.collections.get(key) ?? resolverFor(shape, key, new All(key), shape.collections);
    const got = traced(this, key, get);
    if (handed.factories > 0) handed.things.push(got);
    return got;
  }

  /** Runs `work` when this scope ends, in turn with its instances: the newest first. */
  defer(work: () => unknown): void {
    refuseEnded(this, 'defer');
    keep(this, DEFERRED, [work]);
  }

  /** Makes what wins its key and has `onStart`, and starts all that was made, dependencies first. Await it before you serve. */
  start(): Promise<void> {
    refuseEnded(this, 'start');
    const starting = start(this, this.starting);
    const forget = () => {
      if (this.starting === starting) this.starting = undefined;
    };
    starting.then(forget, forget);
    return (this.starting = starting);
  }

  /**
   * Ends the scopes below, then this scope's instances, the newest first. Serves nothing from this moment on.
   * What it waits for must not await it: an end here or below, or an `onStart`.
   */
  dispose(): Promise<void> {
    if (this.ending) return promiseOf(this.ending);
    if (this.newest || this.kept || this.starting || trail.depth > 0) return end(this);
    this.closed = true;
    this.ending = NOTHING_TO_END;
    leave(this);
    return NOTHING_TO_END.promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** Keeps `console.log` from printing the whole application. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return `Container ${showTags(this.shape.lineage)}`;
  }

  /** @internal Takes on the shape, and gives the scopes below the shapes that follow from it. */
  move(shape: Shape, followers?: Map<Shape, Shape>): void {
    if (shape === this.shape) return;
    this.shape = shape;
    if (!this.newest) return;
    const moved = followers ?? new Map<Shape, Shape>();
    for (let child: Container | undefined = this.newest; child; child = child.older) {
      const follower = moved.get(child.shape) ?? child.shape.moved(shape).use();
      moved.set(child.shape, follower);
      child.move(follower, moved);
    }
  }
}

// Room for more is made when it is needed.
const MOST_SLOTS_AHEAD = 32;

function rootShape(injectorOrOptions: Injector | ScopeOptions | null | undefined, second?: ScopeOptions): Shape {
  const first = injectorOrOptions ?? {};
  const injector = 'dependencies' in first ? first : undefined;
  const { tags = [] } = second ?? (injector ? {} : (first as ScopeOptions));
  return new Shape(undefined, checkedTags(tags), injector ?? new MetadataInjector());
}
