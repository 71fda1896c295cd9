import {
  type CheckedList,
  type ListedKeys,
  type AbstractClass,
  type Dependency,
  type Fitting,
  type Key,
  lazy,
  type Listed,
} from './keys.js';

// Comments, regular expressions, strings and templates are skipped; what counts is a bracket that opens, one that closes, and a
// constructor where one is defined. A slash divides, unless it stands where a value begins.
const TOKEN =
  /(?<![.\w$]|static\s)(['"]?)constructor\1(?=\s*[(/])|\/\/.*|\/\*[^]*?\*\/|(?<=[=>(,:!&|?[]\s*|return\s)\/(?:\\.|\[(?:\\.|[^\]])+]|[^/\\\n])+\/|(['"])(?:\\[^]|(?!\2)[^\\\n])*\2|`(?:\\[^]|\$\{(?:`[^`]*`|[^`}])*}|[^\\`$]|\$(?!\{))*`|([{([])|([\])}])/g;

// `super` gets all that the constructor gets.
const PASSES_ON = /^constructor\s*\((?:\.{3}([^)]+))?\)\s*\{[^{}]*super\(\.{3}(?:arguments|\1)\)/;

/**
 * Tells if a class without parameters gives its parent the arguments it receives: it has no constructor, or one that passes them on, as
 * compilers write it for classes with fields. Only the text of the class tells; undefined where the text cannot be read.
 */
function passesOnArguments(target: object): boolean | undefined {
  const text = Function.prototype.toString.call(target);
  if (!text.startsWith('class')) return /\barguments\)/.test(text) || undefined;
  let depth = 0;
  for (const { 1: name, 3: opens, 4: closes, index } of text.matchAll(TOKEN)) {
    if (opens) depth++;
    else if (closes) depth--;
    else if (depth === 1 && name !== undefined) return PASSES_ON.test(text.slice(index));
  }
  return depth === 0 || undefined;
}

/** Lists the dependencies of a class; entry `i` is for parameter `i`. */
export interface Injector {
  /**
   * Lists what the constructor of the class needs. The container calls it for classes whose registration has no list of keys.
   *
   * @param target - the class
   * @returns one entry for each parameter; undefined for one that has a default value and gets that
   */
  dependencies(target: AbstractClass): readonly (Dependency | undefined)[];
}

/** A global symbol, so that two copies of this package in one tree read each other's keys. */
const NEEDS: unique symbol = Symbol.for('ambit:inject') as never;

/** A class says what it needs by the decorators of this file, or by `static inject`. */
interface Declaring {
  readonly [NEEDS]?: Dependency[];
  readonly inject?: unknown;
}

// The only way to say "any constructor": its parameters are read from it, so they must not be `never`.
// oxlint-disable-next-line no-explicit-any
type AnyConstructor = abstract new (...args: any) => any;

/**
 * Injects the service with this key into the constructor parameter it decorates, checked against its type at compile time. It is a
 * decorator of the older kind, for `"experimentalDecorators": true`; {@link injectable} works without.
 *
 * @param key - the key, or what {@link lazy}, {@link all} or {@link optional} made of it
 * @returns the parameter decorator
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
    const own = ownOf(target, NEEDS) ?? [];
    own[index] = key;
    declare(target, own);
  };
}

/**
 * Lists the keys of all constructor parameters of the class it decorates, checked against them at compile time. It works as a decorator
 * of ECMAScript and, with `"experimentalDecorators": true`, as one of the older kind.
 *
 * @param needs - the keys of the constructor parameters, in their order
 * @returns the class decorator
 *
 * @example
 * ```ts
 * @injectable('IName')
 * class Greeter {
 *   readonly name: unknown;
 *   constructor(name: unknown) { this.name = name; }
 * }
 * ```
 */
export function injectable<const D extends readonly Dependency[]>(...needs: D & ListedKeys<D>) {
  return <C extends AnyConstructor>(
    target: [D] extends [CheckedList<D, ConstructorParameters<C>>] ? C : CheckedList<D, ConstructorParameters<C>>,
    _context?: ClassDecoratorContext,
  ): void => declare(target, [...needs]);
}

const declare = (target: object, needs: Dependency[]): void =>
  void Object.defineProperty(target, NEEDS, { value: needs, configurable: true });

// A parameter that needs a key and has none is reported like one whose key is undefined.
const NO_KEY = lazy(undefined as unknown as Key);

/**
 * Reads the keys that `@inject`, `@injectable` or `static inject` left on the class. A class without a constructor of its own needs what
 * its parent needs. It is what a `Container` uses by default.
 *
 * @example
 * ```ts
 * import { Container, MetadataInjector, type Injector } from '@ambit/container';
 * class S3Client { constructor(readonly region: string) {} } // of a library, so it cannot be decorated
 *
 * const ours = new MetadataInjector();
 * const injector: Injector = { dependencies: (target) => (target === S3Client ? ['IRegion'] : ours.dependencies(target)) };
 * const app = new Container(injector, { tags: ['application'] });
 * ```
 */
export class MetadataInjector implements Injector {
  private readonly inheriting = new WeakMap<AbstractClass, boolean | undefined>();

  /**
   * Lists what the class says that its constructor needs.
   *
   * @param target - the class
   * @returns one entry for each parameter. One without a key, where the class lists others, is reported when it is resolved
   */
  dependencies(target: AbstractClass): readonly (Dependency | undefined)[] {
    if (!(NEEDS in target) && !Array.isArray((target as Declaring).inject)) return [];
    const own = ownNeeds(target);
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

function ownNeeds(target: AbstractClass): readonly Dependency[] | undefined {
  const list = ownOf(target, NEEDS) ?? ownOf(target, 'inject');
  return Array.isArray(list) ? (list as Dependency[]) : undefined;
}

/** The declaration of the class itself, not of its parent. */
function ownOf<K extends keyof Declaring>(target: object, name: K): Declaring[K] | undefined {
  return Object.hasOwn(target, name) ? (target as Declaring)[name] : undefined;
}
