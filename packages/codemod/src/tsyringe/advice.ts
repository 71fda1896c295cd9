/** For a circular dependency. */
export const LAZY =
  "register both classes under string keys, and use inject(lazy('IOther')): a function that resolves the service when it is called";

/** What to write in place of an export that was left. */
export const ADVICE: Readonly<Record<string, string>> = {
  autoInjectable: 'resolve the class from the container, or pass the dependencies to its constructor',
  delay: LAZY,
  inject: 'move it to a parameter of the constructor',
  injectWithTransform: 'register what the transformer returns with Registration.fromFactory, and inject that key',
  injectAllWithTransform: 'register what the transformer returns with Registration.fromFactory, and inject that key',
  instancePerContainerCachingFactory: "Registration.fromFactory(fn).pipe(singleton(), scope(hasTag('request')))",
  predicateAwareClassFactory:
    'Registration.fromFactory((scope) => ...), which chooses, and scope.resolve of the class chosen',
  'Lifecycle.ResolutionScoped':
    "one instance for each scope: .pipe(singleton(), scope(hasTag('request'))), or pass the instance on",
  Lifecycle: "singleton() and scope(hasTag('request')) in .pipe(...)",
  registry: 'container.addRegistration(...)',
  Disposable:
    'remove it: dispose(), Symbol.dispose and Symbol.asyncDispose of an instance are called without an interface',
};

/** What to write in place of a method of the container that was left. */
export const METHODS: Readonly<Record<string, string>> = {
  reset: 'make a new Container for each test, or use override() of @ambit/container/tools',
  clearInstances: 'make a new Container for each test, or use override() of @ambit/container/tools',
  beforeResolution: 'decorate(wrap) in .pipe(...)',
  afterResolution: 'decorate(wrap) in .pipe(...), which wraps each instance when it is made',
};
