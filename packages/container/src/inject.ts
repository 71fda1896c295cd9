import 'reflect-metadata';
import type { AbstractClass, Dependency, Fitting } from './keys.js';

/** Names what a class asks for; entry `i` is for parameter `i`. */
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
export function inject<const D extends Dependency>(key: D) {
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

/** Reads what `@inject` left on the class; a class without a constructor of its own asks for what its parent asks for. */
export class MetadataInjector implements Injector {
  dependencies(target: AbstractClass): readonly (Dependency | undefined)[] {
    // A constructor with parameters is its own; only its own names are for these.
    const read = target.length > 0 ? Reflect.getOwnMetadata : Reflect.getMetadata;
    return (read(NAMES, target) as Dependency[] | undefined) ?? [];
  }
}
