import type { Factory, IContainer } from './contract.js';
import type {
  AbstractClass,
  Dependency,
  Key,
  CheckedList,
  CheckedStatic,
  Deliveries,
  KeyFor,
  ListedKeys,
  NotAList,
  Class,
  Delivered,
  KnownKey,
  Listed,
  Mismatch,
} from './keys.js';
import { checkFunction, checkKey, refuse, show } from './errors.js';

/** A scope, as a scope predicate sees it. */
export interface Tagged {
  /**
   * Tells if the scope itself has the tag.
   *
   * @param tag - the tag, such as `request`
   * @returns true if it has
   */
  hasTag(tag: string): boolean;
}

/** True if a registration applies in a scope. It sees the tags only, and runs once for each kind of scope, not at each `resolve`. */
export type ScopePredicate = (scope: Tagged) => boolean;

type Source =
  | { readonly kind: 'class'; readonly target: AbstractClass }
  | { readonly kind: 'factory'; readonly make: (...needs: never[]) => unknown; readonly isOfScope?: true }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'alias' }
  | ({ readonly kind: 'register' } & Partial<Registered>);

/** A factory that was registered directly on a scope, and its result once it was called. */
export interface Registered {
  factory: Factory;
  result: unknown;
}

/** A callback for an instance; `layer` says how many decorators had wrapped it. */
interface Hook {
  readonly layer: number;
  readonly act: (instance: never, reason: unknown) => unknown;
}

/** The facts that a graph adds to one of its entries. */
export interface Declared {
  /** The tags of the scopes in which it is available; undefined for an alias of one key. */
  readonly lifetimes?: readonly string[] | undefined;
  /** The name of the feature that has the entry. */
  readonly feature?: string | undefined;
  /** Joins the entry of an earlier feature under the same key, or replaces it. */
  readonly joining?: 'override' | 'also' | undefined;
}

/** A registration before it has a key: plain data, changed by modifiers. `T` is what it makes. */
export interface Recipe<out T = unknown> {
  /** The source of the instances: a class, a factory, a value or another key. */
  source: Source;
  /** The keys of the parameters, where the registration lists them. */
  readonly needs?: readonly Dependency[] | undefined;
  /** The owning scope keeps the instance; otherwise each `resolve` makes one. */
  readonly singleton?: boolean | undefined;
  /** The container does not dispose the instances. */
  readonly externallyOwned?: true | undefined;
  /** It may keep what an inner scope has again, or be what an outer service does not get: set by `allowSplit()`. */
  readonly allowSplit?: true | undefined;
  /** The scopes in which it applies; undefined where that is the scope it was added to and those below. */
  readonly when?: ScopePredicate | undefined;
  /** The functions that wrap each instance, in this order. */
  readonly decorators?: readonly ((inner: never, scope: IContainer) => unknown)[] | undefined;
  /** Callbacks that dispose an instance, in place of its own disposer. */
  readonly onDispose?: readonly Hook[] | undefined;
  /** Callbacks that `start()` calls with an instance. */
  readonly onStart?: readonly Hook[] | undefined;
  /** Set by `override()` of `@ambit/container/tools`: it wins over all others of the key. */
  readonly override?: symbol | undefined;
  /** The facts that a graph of `lifetimes()` adds. */
  readonly declared?: Declared | undefined;
  /** Only in types: what the recipe makes. */
  readonly makes?: T;
}

/** A registration bound to its key, ready for `addRegistration`. */
export interface Binding extends Recipe {
  /** `resolve(key)` delivers the service. */
  readonly key: Key;
}

/** A new binding. All have the same properties, which makes them fast to read. */
export const bound = (recipe: Recipe, key: Key): Binding => ({
  key,
  source: recipe.source,
  needs: recipe.needs,
  singleton: recipe.singleton,
  externallyOwned: recipe.externallyOwned,
  allowSplit: recipe.allowSplit,
  when: recipe.when,
  decorators: recipe.decorators,
  onDispose: recipe.onDispose,
  onStart: recipe.onStart,
  override: recipe.override,
  declared: recipe.declared,
});

/** Turns one recipe into another; `A` is what it made before, `B` what it makes after. */
export type Modifier<A, B = A> = (recipe: Recipe<A>) => Recipe<B>;

/**
 * How a service is made, and its lifetime. Immutable: every step returns a new one.
 *
 * @example
 * ```ts
 * class Users { find(id: string) { return id; } }
 * const users = Registration.fromClass(Users).pipe(singleton(), scope(hasTag('request'))).to('IUsers');
 * new Container().addRegistration(users);
 * ```
 */
export class Registration<T> {
  private constructor(private readonly recipe: Recipe<T>) {}

  /**
   * Makes the service as an instance of the class.
   *
   * @param target - the class
   * @param needs - the keys of its constructor parameters, checked position by position; without it, those that the class names with
   *   `@inject`, `@injectable` or `static inject`
   * @returns the registration, without a key yet
   * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: this is no class, but an instance, a key or an arrow function
   */
  static fromClass<T>(target: Class<T> & { readonly inject?: NotAList }): Registration<T>;
  static fromClass<C extends Class>(target: CheckedStatic<C>): Registration<InstanceType<C>>;
  static fromClass<C extends Class, const D extends readonly Dependency[]>(
    target: C,
    needs: D & CheckedList<D, ConstructorParameters<C>>,
  ): Registration<InstanceType<C>>;
  static fromClass<T>(target: Class<T>, needs?: readonly Dependency[]): Registration<T> {
    // Arrow functions have no prototype.
    if (!(target as Class | undefined)?.prototype)
      refuse(`fromClass got ${show(target)}`, 'pass the class itself, not an instance, a key or an arrow function');
    return new Registration<T>({ source: { kind: 'class', target }, needs });
  }

  /**
   * Registers a value that exists already. The code that made it disposes it. A literal keeps its type: `'info'` fits where
   * `'info' | 'warn'` is asked for.
   *
   * @param value - the value
   * @returns the registration, without a key yet
   */
  static fromValue<T extends string | number | boolean | bigint | symbol>(value: T): Registration<T>;
  static fromValue<T>(value: T): Registration<T>;
  static fromValue<T>(value: T): Registration<T> {
    return new Registration<T>({ source: { kind: 'value', value } });
  }

  /**
   * Makes the service by calling a function.
   *
   * @param make - returns the service, or a promise of it
   * @param needs - the keys of its parameters; without it, the function receives the scope
   * @returns the registration, without a key yet
   * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: this is no function
   */
  static fromFactory<T>(make: Factory<T>): Registration<T>;
  static fromFactory<const D extends readonly Dependency[], T>(
    make: (...needs: Deliveries<D>) => T,
    needs: D & ListedKeys<D>,
  ): Registration<T>;
  static fromFactory<T>(make: (...needs: never[]) => T, needs?: readonly Dependency[]): Registration<T> {
    checkFunction(make, 'fromFactory', 'a function; for a ready value use Registration.fromValue');
    return new Registration<T>({ source: { kind: 'factory', make }, needs });
  }

  /**
   * Gives the service of another key a second name.
   *
   * @param key - the other key
   * @returns the registration, without a key yet
   */
  static alias<const K extends KnownKey | AbstractClass>(key: K): Registration<Delivered<K>>;
  static alias<T = unknown, const K extends string | symbol = string | symbol>(key: Listed<K>): Registration<T>;
  static alias<T>(key: Key): Registration<T> {
    return new Registration<T>({ source: { kind: 'alias' }, needs: [key] });
  }

  /**
   * Applies modifiers, in order: each receives what the one before has made.
   *
   * @param a - the first modifier
   * @param b - the second
   * @param c - the third
   * @param d - the fourth
   * @param e - the fifth
   * @param f - the sixth
   * @param g - the seventh
   * @param h - the eighth
   * @param i - the ninth
   * @param j - the tenth
   * @param modifiers - any number of modifiers that keep the type
   * @returns the changed registration; this one stays as it is
   */
  pipe<A = T, B = A, C = B, D = C, E = D, F = E, G = F, H = G, I = H, J = I>(
    a?: Modifier<T, A>,
    b?: Modifier<A, B>,
    c?: Modifier<B, C>,
    d?: Modifier<C, D>,
    e?: Modifier<D, E>,
    f?: Modifier<E, F>,
    g?: Modifier<F, G>,
    h?: Modifier<G, H>,
    i?: Modifier<H, I>,
    j?: Modifier<I, J>,
  ): Registration<J>;
  pipe(...modifiers: Modifier<T>[]): Registration<T>;
  pipe(...modifiers: never[]): Registration<never> {
    const made = (modifiers as Modifier<never>[]).reduce<Recipe>(
      (recipe, modify) => modify(recipe as never),
      this.recipe,
    );
    return new Registration(made as Recipe<never>);
  }

  /**
   * Completes the registration with its key.
   *
   * @param key - a string, a symbol or a class; the compiler checks that the service fits a class or an entry of `ServiceMap`
   * @returns the binding, for `addRegistration`
   * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`: the key is no string, symbol or class, or there is an `onStart` or `onDispose` for
   *   instances that the container does not keep
   */
  to<const K extends Key>(key: KeyFor<K, T>): Binding;
  to(key: Key): Binding {
    checkKey(key, 'to');
    const { source, singleton: cached, onDispose, onStart } = this.recipe;
    if ((onDispose ?? onStart) && (!cached || source.kind === 'value' || source.kind === 'alias'))
      refuse(
        `${show(key)} has ${onDispose ? 'onDispose' : 'onStart'}, but the container does not keep its instances`,
        'use fromClass or fromFactory, with singleton(): a scope starts and disposes only what it makes and keeps',
      );
    return bound(this.recipe, key);
  }
}

/** Registrations that have a key, or a compile error that says how to complete one. */
export type Bound<R extends readonly unknown[]> = {
  readonly [I in keyof R]: R[I] extends Registration<unknown>
    ? Mismatch<'a registration has no key: end it with .to(key)', R[I], Binding>
    : Binding;
};

/**
 * Lifetime: one instance per owning scope. Without it every `resolve` makes a new instance (transient).
 *
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * class UserCache { readonly users = new Map<string, unknown>(); }
 * Registration.fromClass(UserCache).pipe(singleton()).to('IUserCache'); // one for the whole application
 * ```
 */
export const singleton = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({ ...recipe, singleton: true });

/**
 * Other code disposes the instances: the container does not call their `Symbol.asyncDispose`, `Symbol.dispose` or `dispose()`.
 * An `onDispose` of the registration is still called.
 *
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * const shared = { dispose() {} }; // other code closes it
 * Registration.fromFactory(() => shared).pipe(singleton(), externallyOwned()).to('IShared');
 * ```
 */
export const externallyOwned = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({
  ...recipe,
  externallyOwned: true,
});

/**
 * Says that a *split key* is meant. A service of an outer scope keeps the dependency of that scope, also where it is resolved in an inner
 * scope that has the key again: behind a transaction, a request-scoped service that was given the pool writes outside of the transaction.
 * `verify()` reports that, unless the service has this modifier, or the registration of the inner scope has it.
 *
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * Registration.fromFactory((db) => ({ db }), ['db'])
 *   .pipe(singleton(), scope(hasTag('request')), allowSplit()) // its lines stay when the transaction is rolled back
 *   .to('IAuditTrail');
 * ```
 */
export const allowSplit = (): (<T>(recipe: Recipe<T>) => Recipe<T>) => (recipe) => ({ ...recipe, allowSplit: true });

/**
 * Lifetime: applies only in scopes whose tags satisfy the predicate. The nearest such scope owns the instance.
 * `singleton(), scope(hasTag('request'))` makes a service request-scoped. With several, all of them must accept the scope.
 *
 * @param predicate - looks at the tags of a scope, such as {@link hasTag}
 * @returns the modifier, for `Registration.pipe`
 * @throws `ContainerError` `AMBIT_BAD_REGISTRATION`, from `pipe`: the predicate is no function
 *
 * @example
 * ```ts
 * class Cart { readonly items: string[] = []; }
 * Registration.fromClass(Cart).pipe(singleton(), scope(hasTag('request'))).to('ICart'); // one per request
 * ```
 */
export const scope =
  (predicate: ScopePredicate): (<T>(recipe: Recipe<T>) => Recipe<T>) =>
  (recipe) => {
    checkFunction(predicate, 'scope', "a predicate: scope(hasTag('request'))");
    const { when } = recipe;
    // A predicate may take `hasTag` out of its argument: ({ hasTag }) => hasTag('request').
    return {
      ...recipe,
      when: (tagged) => (!when || when(tagged)) && predicate({ hasTag: (tag) => tagged.hasTag(tag) }),
    };
  };

/**
 * A predicate for {@link scope}: true when the scope itself has the tag.
 *
 * @param tag - the tag, such as `request` or `transaction`
 * @returns the predicate
 *
 * @example
 * ```ts
 * class OrderRepository {}
 * Registration.fromClass(OrderRepository).pipe(singleton(), scope(hasTag('transaction'))).to('IOrders'); // one per transaction
 * ```
 */
export const hasTag =
  (tag: string): ScopePredicate =>
  (tagged) =>
    tagged.hasTag(tag);

/**
 * Wraps each instance, for logging, caching, retries. Several apply in the order given.
 *
 * @param wrap - receives the instance and the scope that makes it, and returns what takes its place
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * Registration.fromValue({ greet: () => 'hello' })
 *   .pipe(decorate((inner) => ({ greet: () => inner.greet().toUpperCase() })))
 *   .to('IGreeter');
 * ```
 */
export const decorate =
  <A, B = A>(wrap: (inner: A, scope: IContainer) => B): Modifier<A, B> =>
  (recipe) =>
    ({ ...recipe, decorators: [...(recipe.decorators ?? []), wrap] }) as Recipe as Recipe<B>;

/**
 * Disposes an instance in place of its own `Symbol.asyncDispose`, `Symbol.dispose` or `dispose()`. For a `singleton()` from a class or a
 * factory only.
 *
 * @param cleanup - receives the instance, as the decorators listed before had wrapped it, and the reason that `dispose(reason)` was called
 *   with: undefined unless the work of the scope failed. The disposal awaits its promise
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * class Pool { async end() {} }
 * Registration.fromClass(Pool).pipe(singleton(), onDispose((pool) => pool.end())).to('IPool');
 * ```
 */
export const onDispose =
  <T>(cleanup: (instance: T, reason: unknown) => unknown): Modifier<T> =>
  (recipe) => ({
    ...recipe,
    onDispose: [...(recipe.onDispose ?? []), { layer: recipe.decorators?.length ?? 0, act: cleanup }],
  });

/**
 * Prepares an application singleton. `app.start()` calls these in dependency order; none of them may await `app.start()` itself. For a
 * `singleton()` from a class or a factory only.
 *
 * @param start - receives the instance, as the decorators listed before had wrapped it; `app.start()` awaits its promise
 * @returns the modifier, for `Registration.pipe`
 *
 * @example
 * ```ts
 * class Pool { async connect() {} }
 * const app = new Container({ tags: ['application'] });
 * app.addRegistration(Registration.fromClass(Pool).pipe(singleton(), onStart((pool) => pool.connect())).to('IPool'));
 * await app.start();
 * ```
 */
export const onStart =
  <T>(start: (instance: T) => unknown): Modifier<T> =>
  (recipe) => ({
    ...recipe,
    onStart: [...(recipe.onStart ?? []), { layer: recipe.decorators?.length ?? 0, act: start }],
  });
