import 'reflect-metadata';
import { lazy, type AbstractClass, type Dependency, type Fitting, type Key, type Listed } from './keys.js';
import { passesOnArguments } from './own-constructor.js';

/** Lists the dependencies of a class; entry `i` is for parameter `i`. */
export interface Injector {
  dependencies(target: AbstractClass): readonly (Dependency | undefined)[];
}

const NAMES = Symbol.for('ambit:inject');

// The only way to say "any constructor": its parameters are read from it, so they must not be `never`.
// oxlint-disable-next-line no-explicit-any
type AnyConstructor = abstract new (...args: any) => any;

/**
 * Injects the service with this key into the constructor parameter it decorates, checked against its type at compile time.
 *
 * @example
 * ```ts
 * class Greeter {
 *   constructor(@inject('IName') private readonly name: unknown) {}
 *   greet() { return `Hello ${this.name}`; }
 * }
 * ```
 */
export function inject<const D extends Dependency>(key: Listed<D>) {
  return <C extends AnyConstructor, const I extends number>(
    target: Fitting<D, ConstructorParameters<C>[I], `parameter ${I}`, C>,
    _name: undefined,
    index: I,
  ): void => {
    const own = (Reflect.getOwnMetadata(NAMES, target) as Dependency[] | undefined) ?? [];
    own[index] = key;
    Reflect.defineMetadata(NAMES, own, target);
  };
}

// A parameter that needs a key and has none is reported like one whose key is undefined.
const NO_KEY = lazy(undefined as unknown as Key);

/** Reads the keys that `@inject` left on the class. A class without a constructor of its own needs what its parent needs. */
export class MetadataInjector implements Injector {
  private readonly inheriting = new WeakMap<AbstractClass, boolean | undefined>();

  dependencies(target: AbstractClass): readonly (Dependency | undefined)[] {
    if (!Reflect.hasMetadata(NAMES, target)) return [];
    const own = Reflect.getOwnMetadata(NAMES, target) as Dependency[] | undefined;
    if (!own && target.length === 0) {
      if (!this.inheriting.has(target)) this.inheriting.set(target, passesOnArguments(target));
      const inherits = this.inheriting.get(target);
      if (inherits) return this.dependencies(Object.getPrototypeOf(target) as AbstractClass);
      return inherits === undefined ? [NO_KEY] : [];
    }
    const { length } = target;
    return Array.from(
      { length: Math.max(length, own?.length ?? 0) },
      (_, i) => own?.[i] ?? (i < length ? NO_KEY : undefined),
    );
  }
}
