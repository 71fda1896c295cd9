/** For a resolver that was left. */
export const RESOLVER =
  'Registration.fromClass(...), fromFactory(...) or fromValue(...), completed with .to(key) where the key is known';

/** What to write in place of an export that was left. */
export const ADVICE: Readonly<Record<string, string>> = {
  asClass: RESOLVER,
  asFunction: RESOLVER,
  asValue: RESOLVER,
  aliasTo: "Registration.alias('pool').to(key)",
  createContainer: "new Container({ tags: ['application'] })",
  fastifyAwilixPlugin: 'containerPlugin of @ambit/fastify; request.container is the scope of the request',
  diContainer: 'a container of your own: new Container(...)',
  diContainerClassic: 'a container of your own: new Container(...)',
  listModules: 'import the modules and register what they export',
  Lifetime: 'singleton() and scope(hasTag(...)) in .pipe(...)',
  RESOLVER: 'the lifetime stands in the registration, not on the class',
  AwilixResolutionError: 'ContainerError, by its code',
  Cradle: 'ServiceMap of @ambit/container',
  RequestCradle: 'ServiceMap of @ambit/container',
};

/** What to write in place of a method of the container that was left. */
export const METHODS: Readonly<Record<string, string>> = {
  build: 'container.resolve(TheClass): a class without a registration',
  loadModules: 'import the modules and register what they export',
  inspect: 'graph(container) of @ambit/container/tools',
  getRegistration: 'explain(container, key) of @ambit/container/tools',
};

/** In awilix the result was `any`. */
export const TYPED =
  'the result is unknown: declare the type of the key in ServiceMap, or name it: resolve<Users>(key)';

/** What to write in place of a property of the container. */
export const PROPERTIES: Readonly<Record<string, string>> = {
  registrations: 'container.has(key), or graph(container) of @ambit/container/tools',
  cache: 'graph(container) of @ambit/container/tools',
  options: 'keep the options in a value of your own',
};

/** Modules that build on the library, and what takes their place. */
export const COMPANIONS: Readonly<Record<string, string>> = {
  'awilix-express': 'containerMiddleware of @ambit/express, and req.container.resolve(key) in a route of Express',
  'awilix-koa': "createScope({ tags: ['request'] }) in a middleware, and dispose() after next()",
  'awilix-router-core': 'routes stay those of the host',
  'awilix-manager': '.pipe(onStart(fn), onDispose(fn)) and container.start()',
};
