/** A scope as the questions use it; a method that a library has no counterpart for is missing. */
export interface Scope {
  /** The service of a request, `visit`. */
  visit: () => unknown;
  /** The service of the application, `pool`. */
  pool: () => unknown;
  open?: (tag: 'request' | 'transaction') => Scope;
  /** What has to be registered again in each request's scope. */
  register?: () => void;
}

export type Disposer = () => void | Promise<void>;

/** Three services: `third` depends on `second`, and `second` on `first`. */
export interface Disposers {
  first: Disposer;
  second: Disposer;
  third: Disposer;
}

export interface Held {
  /** Makes all three. */
  resolveThird: () => unknown;
  /** Disposes what has them: the application or the request. */
  dispose: () => unknown;
  disposeApplication: () => unknown;
}

/** A mistake in a graph, and when the library may find it. */
export interface Mistake {
  /** What the application can call before its first request. */
  start?: () => unknown;
  resolve: () => unknown;
}

/**
 * One library, with what it can do as programs. Each is written as the documentation of the library does it. A mistake that the compiler finds
 * has a `@ts-expect-error` inside: `tsc -p test/libraries` proves it, and the questions read it.
 */
export interface Library {
  title: string;
  /** Its file in `libraries/`, which is also read and minified. */
  file: string;
  package: string;
  scopes: () => Scope | Promise<Scope>;
  disposal?: (lifetime: 'application' | 'request', disposers: Disposers) => Held | Promise<Held>;
  /** `welcome` of the application depends on `visit` of a request; each `resolve` is in another request. */
  captive: () => Mistake;
  /** `left` depends on `right`, and `right` on `left`. */
  circular: () => Mistake;
  /** A service depends on `absent`, which nobody registered. */
  missing: () => Mistake;
  /** The application resolves `misspelt`, which nobody registered. */
  misspelt: () => Mistake;
  /** A constructor takes a pool, and its key delivers a clock. */
  mismatch: () => Mistake;
  /** Resolves `Users` with its `pool`. */
  wireClass?: () => unknown;
  wireFactory?: () => unknown;
  wireDecorated?: () => unknown;
  /** By the name of a parameter or of a class. */
  wireByName?: () => unknown;
  /** Resolves `Users`, whose pool an async factory makes. */
  asyncFactory: () => unknown;
  /** Resolves an object whose `pool` is a property without a parameter of the constructor. */
  property?: () => unknown;
  /** The names of the loggers that `Shop` and `Cart` receive from one key. */
  conditional?: () => [string, string] | Promise<[string, string]>;
  /** Resolves `clock` from the modules of a folder. */
  folder?: (path: string) => unknown;
}
