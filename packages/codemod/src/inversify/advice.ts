const VARIANT = 'a key for each variant';
const PROPERTY = 'move it to a parameter of the constructor';

/** What to write in place of an export that was left. */
export const ADVICE: Readonly<Record<string, string>> = {
  inject: PROPERTY,
  multiInject: PROPERTY,
  optional: PROPERTY,
  named: VARIANT,
  tagged: VARIANT,
  targetName: 'remove it',
  unmanaged: 'register a factory, Registration.fromFactory, that calls the constructor',
  postConstruct:
    '.pipe(onStart(fn)) and container.start() for a singleton, or do it in the constructor or in a factory',
  preDestroy: '.pipe(onDispose(fn)) for what the container keeps, or name the method dispose()',
  decorate: 'Registration.fromClass(TheClass, [keys]): a class needs no decorator',
  LazyServiceIdentifier: "break the import cycle, or use string keys; inject(lazy('IOther')) for a circular dependency",
  LazyServiceIdentifer: "break the import cycle, or use string keys; inject(lazy('IOther')) for a circular dependency",
  AsyncContainerModule: 'an async function that takes the container and calls addRegistration',
  ContainerModule:
    'a function, (container: Container): void => { container.addRegistration(...) }; override() where it replaces a binding',
  'interfaces.Bind': 'a function that takes the container and calls addRegistration',
  'interfaces.Factory': "the function's own type: () => Users",
  'interfaces.Provider': "the function's own type: () => Promise<Users>",
  'interfaces.Newable': 'Class<T> of @ambit/container',
};
const TESTS = 'override() of @ambit/container/tools, which is taken back at the end of the block';

/** What to write in place of a method of the container that was left. */
export const METHODS: Readonly<Record<string, string>> = {
  rebind: TESTS,
  rebindSync: TESTS,
  unbind: TESTS,
  unbindAll: TESTS,
  snapshot: TESTS,
  restore: TESTS,
  getNamed: VARIANT,
  getTagged: VARIANT,
  getAllNamed: VARIANT,
  getAllTagged: VARIANT,
  isBoundNamed: VARIANT,
  isBoundTagged: VARIANT,
  tryGet: 'optional(key) in a list of keys, or container.has(key) before container.resolve(key)',
  getAsync: 'await container.resolve(key): resolve returns what the factory returns',
  getAllAsync: 'Promise.all(container.resolveAll(key))',
  loadAsync: 'await the functions that took the place of the modules',
  unload: 'make a new Container',
  merge: 'call the functions that add registrations for one container',
  applyMiddleware: 'decorate(wrap) in .pipe(...)',
  applyCustomMetadataReader: 'new Container(injector)',
  onActivation: 'decorate(wrap) in .pipe(...)',
  onDeactivation: 'onDispose(fn) in .pipe(...)',
  load: 'call the functions that took the place of the modules',
  createChild: 'createScope({ tags })',
  isBound: 'optional(key) in a list of keys: a factory receives an IContainer',
  getAll: 'all(key) in a list of keys: a factory receives an IContainer',
};

/** Modules that build on the library, and what takes their place. */
export const COMPANIONS: Readonly<Record<string, string>> = {
  'inversify-express-utils':
    'routes are those of Express: containerMiddleware() of @ambit/express, and req.container.resolve(key) in a handler',
  'inversify-binding-decorators': 'container.addRegistration(Registration.fromClass(TheClass).to(key))',
  'inversify-inject-decorators': PROPERTY,
  'inversify-logger-middleware': 'diagnostics channels of @ambit/container',
  'inversify-react': 'pass the services as props or through a context of React',
};
