import type { Factory, IContainer } from './contract.js';
import { checkFunction, checkKey, refuse } from './checks.js';
import { show } from './errors.js';
import type { AbstractClass, Class, Delivered, Dependency, Fitting, Key, KnownKey, Mismatch, Shown } from './keys.js';

/** What a scope predicate sees of a scope. */
export interface Tagged {
  hasTag(tag: string): boolean;
}

/** Says whether a registration applies in a scope. It sees tags alone, and is asked when a kind of scope is new, not at each `resolve`. */
export type ScopePredicate = (scope: Tagged) => boolean;

/** Where the instances come from. */
type Source =
  | { readonly kind: 'class'; readonly target: AbstractClass }
  | { readonly kind: 'factory'; readonly make: (...needs: never[]) => unknown }
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'alias' }
  | { readonly kind: 'register'; readonly at: number };

/** What to do with an instance, as it was after so many decorators. */
interface Hook {
  readonly layer: number;
  readonly act: (instance: never) => unknown;
}

/** A registration before it has a key: plain data, changed by modifiers. `T` is what it makes. */
export interface Recipe<out T = unknown> {
  readonly source: Source;
  readonly needs?: readonly Dependency[] | undefined;
  readonly singleton?: boolean;
  readonly when?: ScopePredicate;
  readonly decorators?: readonly ((inner: never, scope: IContainer) => unknown)[];
  readonly onDispose?: readonly Hook[];
  readonly onStart?: readonly Hook[];
  readonly override?: symbol;
  /** Only in types: what the recipe makes. */
  readonly makes?: T;
}

/** A registration bound to its key, ready for `addRegistration`. */
export interface Binding extends Recipe {
  readonly key: Key;
}

/** Turns one recipe into another; `A` is what it made before, `B` what it makes after. */
export type Modifier<A, B = A> = (recipe: Recipe<A>) => Recipe<B>;

type At<P extends readonly unknown[], I> = I extends `${infer N extends number}` ? P[N] : P[number];

/** The dependencies of a class, each checked against the parameter at its position. */
type Checked<D extends readonly Dependency[], P extends readonly unknown[]> = {
  readonly [I in keyof D]: Fitting<D[I], At<P, I>, `parameter ${I & string}`, D[I]>;
};

/** The parameters without those that may be left out. */
type Needed<P extends readonly unknown[]> = P extends readonly [unknown, ...infer Rest]
  ? [unknown, ...Needed<Rest>]
  : [];

/** The list itself, or what is wrong with it: a parameter without a key, a key without a parameter, a wrong service at a position. */
type CheckedList<D extends readonly Dependency[], P extends readonly unknown[]> = D extends readonly [
  ...Needed<P>,
  ...unknown[],
]
  ? D['length'] extends Partial<P>['length']
    ? Checked<D, P>
    : Mismatch<`there is no parameter ${Required<P>['length']}`, D, P>
  : Mismatch<`parameter ${D['length']} has no key`, D, P>;

/** The key, if what a registration makes fits it. */
type KeyFor<K, T> = K extends KnownKey | AbstractClass
  ? [T] extends [Delivered<K>]
    ? K
    : Mismatch<`it does not fit ${Shown<K>}`, T, Delivered<K>>
  : K;

type Deliveries<D extends readonly Dependency[]> = { [I in keyof D]: Delivered<D[I]> };

/**
 * How a service is made and how long it lives. Immutable: every step returns a new one.
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

  /** From a class; its dependencies are named by `@inject`, or by the list, checked position by position. */
  static fromClass<T>(target: Class<T>): Registration<T>;
  static fromClass<C extends Class, const D extends readonly Dependency[]>(
    target: C,
    needs: D & CheckedList<D, ConstructorParameters<C>>,
  ): Registration<InstanceType<C>>;
  static fromClass<T>(target: Class<T>, needs?: readonly Dependency[]): Registration<T> {
    // Arrow functions have no prototype.
    checkFunction(
      (target as Class | undefined)?.prototype && target,
      'fromClass',
      'the class itself, not an instance or a key',
    );
    return new Registration<T>({ source: { kind: 'class', target }, needs });
  }

  /** A value that exists already. Whoever made it ends it. */
  static fromValue<T>(value: T): Registration<T> {
    return new Registration<T>({ source: { kind: 'value', value } });
  }

  /** From a function, which gets the listed dependencies, or else the scope. */
  static fromFactory<T>(make: Factory<T>): Registration<T>;
  static fromFactory<const D extends readonly Dependency[], T>(
    make: (...needs: Deliveries<D>) => T,
    needs: D,
  ): Registration<T>;
  static fromFactory<T>(make: (...needs: never[]) => T, needs?: readonly Dependency[]): Registration<T> {
    checkFunction(make, 'fromFactory', 'a function; for a ready value use Registration.fromValue');
    return new Registration<T>({ source: { kind: 'factory', make }, needs });
  }

  /** A second name for another key. */
  static alias<const K extends KnownKey | AbstractClass>(key: K): Registration<Delivered<K>>;
  static alias<T = unknown>(key: string | symbol): Registration<T>;
  static alias<T>(key: Key): Registration<T> {
    return new Registration<T>({ source: { kind: 'alias' }, needs: [key] });
  }

  /** Applies modifiers, in order. */
  pipe<A>(a: Modifier<T, A>): Registration<A>;
  pipe<A, B>(a: Modifier<T, A>, b: Modifier<A, B>): Registration<B>;
  pipe<A, B, C>(a: Modifier<T, A>, b: Modifier<A, B>, c: Modifier<B, C>): Registration<C>;
  pipe<A, B, C, D>(a: Modifier<T, A>, b: Modifier<A, B>, c: Modifier<B, C>, d: Modifier<C, D>): Registration<D>;
  pipe(...modifiers: Modifier<T>[]): Registration<T>;
  pipe(...modifiers: Modifier<never>[]): Registration<unknown> {
    return new Registration(modifiers.reduce<Recipe>((recipe, modify) => modify(recipe as Recipe<never>), this.recipe));
  }

  /** Binds it to its key. */
  to<const K extends Key>(key: KeyFor<K, T>): Binding;
  to(key: Key): Binding {
    checkKey(key, 'to');
    const { source, singleton: cached, onDispose: end, onStart: start } = this.recipe;
    if ((end ?? start) && (!cached || source.kind === 'value' || source.kind === 'alias'))
      refuse(
        `${show(key)} has ${end ? 'onDispose' : 'onStart'}, but the container does not keep what it makes`,
        'use fromClass or fromFactory, with singleton(): only what a scope makes and keeps can it start and end',
      );
    return Object.freeze({ ...this.recipe, key });
  }
}
