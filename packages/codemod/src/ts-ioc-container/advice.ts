const MODIFIERS = 'modifiers in .pipe(...) of the registration';
const CONSTRUCTOR = 'a list of keys: Registration.fromClass(TheClass, [keys]), or @inject(key) on each parameter';
const ALIAS = 'register under one key, and inject all(key)';

/** What to write in place of an export that was left. */
export const ADVICE: Readonly<Record<string, string>> = {
  by: "a key: @inject('IName'), all(key), lazy(key) or optional(key)",
  select: "a key: @inject('IName'), all(key), lazy(key) or optional(key)",
  byAlias: ALIAS,
  byAliases: ALIAS,
  alias: ALIAS,
  toGroupAlias: ALIAS,
  toSingleAlias: "Registration.alias('IFirst').to('ISecond')",
  GroupAliasToken: ALIAS,
  SingleAliasToken: "Registration.alias('IFirst').to('ISecond')",
  args: 'Registration.fromFactory(() => new TheClass(...))',
  argsFn: 'Registration.fromFactory((scope) => new TheClass(...))',
  appendArgs: 'Registration.fromFactory(() => new TheClass(...))',
  appendArgsFn: 'Registration.fromFactory((scope) => new TheClass(...))',
  visible: 'scope(hasTag(...)) in .pipe(...)',
  scopeAccess: 'scope(hasTag(...)) in .pipe(...)',
  register: MODIFIERS,
  provider: MODIFIERS,
  key: 'Registration.fromClass(TheClass).to(key)',
  bindTo: 'Registration.fromClass(TheClass).to(key)',
  Provider: 'Registration.fromFactory(...), completed with .to(key)',
  IProvider: 'Registration of @ambit/container',
  injectProp: 'move it to a parameter of the constructor',
  inject: 'move it to a parameter of the constructor',
  hook: 'call the method from a factory: Registration.fromFactory(...)',
  onConstruct: '.pipe(onStart(fn)) and container.start() for a singleton, or a factory',
  onDispose: '.pipe(onDispose(fn)), or name the method dispose()',
  IContainerModule: 'a function that takes the container and calls addRegistration',
  SimpleInjector: CONSTRUCTOR,
  ProxyInjector: CONSTRUCTOR,
  AutoMockedContainer: 'override() of @ambit/container/tools',
  DependencyNotFoundError: 'ContainerError, by its code AMBIT_NOT_REGISTERED',
};
/** What to write in place of a method of the container that was left. */
export const METHODS: Readonly<Record<string, string>> = {
  use: 'call a function that takes the container',
  useModule: 'call a function that takes the container',
  register: 'addRegistration(Registration...to(key))',
  getInstances: 'a registry of your own, filled with decorate(wrap)',
  resolveMany: 'resolveAll(key)',
  resolveByAlias: 'resolveAll(key)',
  resolveOneByAlias: 'a second key: Registration.alias(key).to(other)',
  addOnConstructHook: 'decorate(wrap) in .pipe(...)',
  addOnDisposeHook: 'onDispose(fn) in .pipe(...)',
};

/** For a registration that was left. */
export const REGISTRATION = 'Registration.fromClass(TheClass).pipe(...).to(key)';
