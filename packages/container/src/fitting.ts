import type {
  AbstractClass,
  Class,
  Delivered,
  Dependency,
  Fitting,
  KnownKey,
  Listed,
  Mismatch,
  Shown,
} from './keys.js';

type At<P extends readonly unknown[], I> = I extends `${infer N extends number}` ? P[N] : P[number];

/** {@link Listed} in a list, where the compiler would print two strings that differ as `never`. */
type ListedAt<K> = [K] extends [Listed<K>] ? K : { readonly problem: Listed<K> };

/** The dependencies of a class, each checked against the parameter at its position. */
type Checked<D extends readonly Dependency[], P extends readonly unknown[]> = {
  readonly [I in keyof D]: Fitting<D[I], At<P, I>, `parameter ${I & string}`, ListedAt<D[I]>>;
};

/** The parameters without those that may be left out. */
type Needed<P extends readonly unknown[]> = P extends readonly [unknown, ...infer Rest]
  ? [unknown, ...Needed<Rest>]
  : [];

/** The list itself, or what is wrong with it: a parameter without a key, a key without a parameter, a wrong service at a position. */
export type CheckedList<D extends readonly Dependency[], P extends readonly unknown[]> = D extends readonly [
  ...Needed<P>,
  ...unknown[],
]
  ? D['length'] extends Partial<P>['length']
    ? Checked<D, P>
    : Mismatch<`there is no parameter ${Required<P>['length']}`, D, P>
  : Mismatch<`parameter ${D['length']} has no key`, D, P>;

/** The class itself, or what is wrong with its `static inject`. */
export type CheckedStatic<C extends Class> = C extends { readonly inject: infer D extends readonly Dependency[] }
  ? number extends D['length']
    ? C
    : [D] extends [CheckedList<D, ConstructorParameters<C>>]
      ? C
      : { readonly inject: CheckedList<D, ConstructorParameters<C>> }
  : C;

/** Whatever `inject` may be on a class that does not list its keys with it. */
export type NotAList = string | number | boolean | ((...args: never[]) => unknown) | undefined;

/** The key, if what a registration makes fits it. */
export type KeyFor<K, T> = K extends KnownKey | AbstractClass
  ? [T] extends [Delivered<K>]
    ? K
    : Mismatch<`it does not fit ${Shown<K>}`, T, Delivered<K>>
  : Listed<K>;

/** The list itself; with `strictKeys`, what is wrong with its keys. */
export type ListedKeys<D extends readonly Dependency[]> = { readonly [I in keyof D]: ListedAt<D[I]> };

/** What a factory with this list receives. */
export type Deliveries<D extends readonly Dependency[]> = { [I in keyof D]: Delivered<D[I]> };
