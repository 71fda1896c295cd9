import {
  type CallExpression,
  type ClassDeclaration,
  type Decorator,
  type Expression,
  type Identifier,
  Node,
} from 'ts-morph';
import {
  addRegistration,
  all,
  convertGlobal,
  createRequestScope,
  keyType,
  optional,
  registration,
  scoped,
  SCOPED,
  type Service,
  singleton,
} from './core/ambit.js';
import { replaceMethod } from './core/calls.js';
import { type Asked, convertConstructor, decoratorsOf, nameOf } from './core/classes.js';
import { type Library, type Program, SEE_TABLE } from './core/model.js';
import { isClass, isToken } from './core/names.js';
import type { Rewriter } from './core/rewriter.js';

/** For a circular dependency. */
const LAZY =
  "register both classes under string keys, and use inject(lazy('IOther')): a function that resolves the service when it is called";

/** The replacement of an export that was left. */
const ADVICE: Readonly<Record<string, string>> = {
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

/** The replacement of a method of the container that was left. */
const METHODS: Readonly<Record<string, string>> = {
  reset: 'make a new Container for each test, or use override() of @ambit/container/tools',
  clearInstances: 'make a new Container for each test, or use override() of @ambit/container/tools',
  beforeResolution: 'decorate(wrap) in .pipe(...)',
  afterResolution: 'decorate(wrap) in .pipe(...), which wraps each instance when it is made',
};

/** Whether the name is what a factory receives. */
function isFactoryParameter(node: Node): boolean {
  const declarations = Node.isIdentifier(node) ? (node.getSymbol()?.getDeclarations() ?? []) : [];
  return declarations.some((one) => Node.isParameterDeclaration(one) && isOfFactory(one));
}

/** Whether the type is that of a factory's parameter, which receives an `IContainer`. */
function isOfFactory(node: Node): boolean {
  const made = node.getFirstAncestor((one) => Node.isArrowFunction(one) || Node.isFunctionExpression(one));
  const parent = made?.getParent();
  return Node.isPropertyAssignment(parent)
    ? parent.getName() === 'useFactory'
    : Node.isCallExpression(parent) && parent.getExpression().getText().endsWith('CachingFactory');
}

/** The modifiers of a lifecycle of tsyringe; undefined for one that Ambit lacks. */
function modifiersOf(rewriter: Rewriter, lifecycle: Node | undefined): string[] | undefined {
  const name = rewriter.origin(lifecycle);
  switch (name) {
    case 'Lifecycle.Transient':
      return [];
    case 'Lifecycle.Singleton':
      return [singleton(rewriter)];
    case 'Lifecycle.ContainerScoped':
      return scoped(rewriter);
    case undefined:
    default:
      return undefined;
  }
}

/** `{ lifecycle: Lifecycle.Singleton }` as modifiers. */
function optionsOf(rewriter: Rewriter, options: Node | undefined): string[] | undefined {
  if (!options) return [];
  if (!Node.isObjectLiteralExpression(options)) return undefined;
  const lifecycle = options.getProperty('lifecycle');
  if (!lifecycle) return options.getProperties().length === 0 ? [] : undefined;
  return Node.isPropertyAssignment(lifecycle) ? modifiersOf(rewriter, lifecycle.getInitializer()) : undefined;
}

/** A provider of tsyringe as a registration without its key; undefined where it cannot be said. */
function serviceOf(rewriter: Rewriter, provider: Node | undefined, modifiers: readonly string[]): Service | undefined {
  if (isClass(rewriter.origins, provider))
    return provider && { source: `fromClass(${rewriter.text(provider)})`, modifiers };
  if (!Node.isObjectLiteralExpression(provider)) return undefined;
  const value = (name: string): Expression | undefined => {
    const property = provider.getProperty(name);
    if (Node.isPropertyAssignment(property)) return property.getInitializer();
    return Node.isShorthandPropertyAssignment(property) ? property.getNameNode() : undefined;
  };
  const target = value('useClass');
  if (target) return { source: `fromClass(${rewriter.text(target)})`, modifiers };
  const given = value('useValue');
  if (given) return { source: `fromValue(${rewriter.text(given)})`, modifiers: [] };
  const token = value('useToken');
  if (token) return { source: `alias(${rewriter.text(token)})`, modifiers: [] };
  const factory = value('useFactory');
  return factory && ofFactory(rewriter, factory);
}

function ofFactory(rewriter: Rewriter, factory: Expression): Service | undefined {
  if (!Node.isCallExpression(factory)) return { source: `fromFactory(${rewriter.text(factory)})`, modifiers: [] };
  const [made] = factory.getArguments();
  if (!rewriter.names(factory.getExpression(), 'instanceCachingFactory') || !made) {
    return rewriter.origin(factory.getExpression()) === undefined
      ? { source: `fromFactory(${rewriter.text(factory)})`, modifiers: [] }
      : undefined;
  }
  rewriter.consume(factory.getExpression());
  return { source: `fromFactory(${rewriter.text(made)})`, modifiers: [singleton(rewriter)] };
}

const REGISTRATION = 'container.addRegistration(Registration.fromClass(...).to(key))';

/** Converts a call of a method of the container. */
function convertCall(rewriter: Rewriter, call: CallExpression): void {
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called) || !rewriter.containers.has(called.getExpression())) return;
  const method = called.getName();
  const become = (text: string) => {
    replaceMethod(rewriter, call, called, text);
    rewriter.done(`container.${method}`);
  };
  const args = call.getArguments();
  const [token, provider, options] = args;
  if (method !== 'resolve' && isFactoryParameter(called.getExpression())) {
    rewriter.leave(
      call,
      `container.${method} in a factory`,
      'a list of keys, with all(key) or optional(key): a factory receives an IContainer',
    );
    return;
  }
  switch (method) {
    case 'resolve':
    case 'resolveAll':
      if (args.length === 1) rewriter.done(`container.${method}`);
      else rewriter.leave(call, `container.${method} with more than a token`, 'container.resolve(key)');
      return;
    case 'dispose':
      rewriter.done('container.dispose');
      return;
    case 'isRegistered':
      if (!token) return;
      if (provider?.getText() === 'true' || rewriter.names(called.getExpression(), 'container'))
        become(`has(${rewriter.text(token)})`);
      else
        rewriter.leave(
          call,
          'container.isRegistered of one container',
          'container.has(key), which asks the parents, too; isRegistered(token, true) is the same',
        );
      return;
    case 'createChildContainer':
      become(createRequestScope(rewriter));
      return;
    case 'register':
    case 'registerSingleton':
    case 'registerInstance':
    case 'registerType': {
      const text = token && registering(rewriter, method, token, provider, options);
      if (text === undefined) {
        rewriter.leave(call, `container.${method}`, rewriter.adviceWithin(call, REGISTRATION));
        return;
      }
      if (options) rewriter.consume(options);
      become(`addRegistration(${text})`);
      return;
    }
    default:
      rewriter.leave(call, `container.${method}`, METHODS[method] ?? SEE_TABLE);
  }
}

/** The registration that `register` and its variants stand for; undefined where Ambit has no equal. */
function registering(
  rewriter: Rewriter,
  method: string,
  token: Node,
  provider: Node | undefined,
  options: Node | undefined,
): string | undefined {
  const key = rewriter.text(token);
  if (method === 'registerInstance')
    return provider && registration(rewriter, { source: `fromValue(${rewriter.text(provider)})`, modifiers: [] }, key);
  if (method === 'register') {
    const modifiers = optionsOf(rewriter, options);
    const service = modifiers && serviceOf(rewriter, provider, modifiers);
    return service && registration(rewriter, service, key);
  }
  const target = provider ?? token;
  const modifiers = method === 'registerSingleton' ? [singleton(rewriter)] : [];
  if (isToken(target)) return registration(rewriter, { source: `alias(${rewriter.text(target)})`, modifiers: [] }, key);
  if (!isClass(rewriter.origins, target)) return undefined;
  return registration(rewriter, { source: `fromClass(${rewriter.text(target)})`, modifiers }, key);
}

/** The registrations that a class decorator stands for; undefined where Ambit has no equal. */
function registrationsOf(rewriter: Rewriter, name: string, decorator: Decorator, own: string): string[] | undefined {
  const [first, second] = decorator.getArguments();
  const source = `fromClass(${own})`;
  switch (name) {
    case 'injectable': {
      const token = tokenOf(first);
      return first ? token && [registration(rewriter, { source, modifiers: [] }, rewriter.text(token))] : [];
    }
    case 'singleton':
      return [registration(rewriter, { source, modifiers: [singleton(rewriter)] }, own)];
    case 'scoped': {
      const modifiers = modifiersOf(rewriter, first);
      if (!modifiers) return undefined;
      if (modifiers.length > 1) rewriter.check(decorator, '@scoped(Lifecycle.ContainerScoped)', SCOPED);
      return [registration(rewriter, { source, modifiers }, second ? rewriter.text(second) : own)];
    }
    case 'registry': {
      if (!Node.isArrayLiteralExpression(first)) return undefined;
      const registrations = first.getElements().map((element) => ofRegistry(rewriter, element));
      return registrations.every((one) => one !== undefined) ? registrations : undefined;
    }
    default:
      return undefined;
  }
}

function ofRegistry(rewriter: Rewriter, element: Node): string | undefined {
  if (!Node.isObjectLiteralExpression(element)) return undefined;
  const token = tokenOf(element);
  const options = element.getProperty('options');
  const modifiers = optionsOf(rewriter, Node.isPropertyAssignment(options) ? options.getInitializer() : undefined);
  const service = modifiers && serviceOf(rewriter, element, modifiers);
  if (!service || !token) return undefined;
  if (options) rewriter.consume(options);
  return registration(rewriter, service, rewriter.text(token));
}

function tokenOf(options: Node | undefined): Node | undefined {
  if (!Node.isObjectLiteralExpression(options)) return undefined;
  const token = options.getProperty('token');
  const value = Node.isPropertyAssignment(token) ? token.getInitializer() : undefined;
  return Node.isArrayLiteralExpression(value) ? undefined : value;
}

/** The dependency that the decorators of a parameter name. */
function readParameter(rewriter: Rewriter, found: ReadonlyMap<string, Decorator>): Asked {
  const [[name, decorator] = ['', undefined], ...others] = found;
  const [token, options] = decorator?.getArguments() ?? [];
  if (token && others.length === 0 && (name === 'inject' || name === 'injectAll')) {
    if (Node.isCallExpression(token) && rewriter.names(token.getExpression(), 'delay'))
      return { construct: '@inject(delay(() => ...))', advice: LAZY };
    const key = rewriter.text(token);
    const isOptional = options?.getText().replaceAll(/\s/g, '') === '{isOptional:true}';
    if (name === 'injectAll' && (!options || isOptional)) return all(rewriter, key);
    if (name === 'inject' && isOptional) return optional(rewriter, key);
    if (!options) return key;
  }
  return { construct: `@${name}`, advice: ADVICE[name] ?? SEE_TABLE };
}

/** The decorators of a class become registrations after it. */
function convertClass(rewriter: Rewriter, declaration: ClassDeclaration, program: Program): void {
  const decorators = decoratorsOf(rewriter, declaration);
  if (decorators.size === 0) return;
  if (decorators.has('autoInjectable')) return;
  const own = declaration.getName();
  const after: string[] = [];
  for (const [name, decorator] of decorators) {
    const registered = own === undefined ? undefined : registrationsOf(rewriter, name, decorator, own);
    if (!registered) {
      const scope = decorator.getArguments()[0];
      const text = `@${name}`;
      rewriter.leave(
        decorator,
        text,
        ADVICE[(scope && rewriter.origin(scope)) ?? name] ?? 'register the class with Registration',
      );
      continue;
    }
    after.push(...registered);
    rewriter.remove(decorator);
    rewriter.done(`@${name}`, nameOf(decorator));
    for (const argument of decorator.getArguments())
      if (rewriter.origin(argument) !== undefined) rewriter.consume(argument);
  }
  convertConstructor(rewriter, declaration, (found) => readParameter(rewriter, found));
  if (after.length === 0) return;
  const indent = declaration.getIndentationText();
  const container = rewriter.use('container', program.globalModule);
  rewriter.insert(
    declaration.getEnd(),
    `\n${indent}${container}.${addRegistration(after, indent)}${rewriter.style.semicolon}`,
  );
}

/** Converts the global container and the types of a container and of a token. */
function convertName(rewriter: Rewriter, node: Identifier, program: Program): void {
  if (node.getFirstAncestor(Node.isImportDeclaration)) return;
  const name = rewriter.origin(node);
  const parent = node.getParent();
  if (convertGlobal(rewriter, node, program, 'container') || Node.isExportSpecifier(parent)) return;
  if (name === 'DependencyContainer') {
    rewriter.replace(node, rewriter.useType(isOfFactory(node) ? 'IContainer' : 'Container'));
    rewriter.done('type of the container', node);
  } else if (name === 'InjectionToken') {
    const reference = Node.isTypeReference(parent) ? parent : node;
    rewriter.replace(reference, keyType(rewriter, reference));
    rewriter.done('type of a token', node);
  }
}

/** Converts programs of tsyringe. */
export const tsyringe: Library = {
  name: 'tsyringe',
  modules: ['tsyringe'],
  companions: {},
  advice: ADVICE,
  page: 'tsyringe',
  containers: {
    values: ['container'],
    creators: [],
    types: ['DependencyContainer'],
    methods: ['createChildContainer', 'register', 'registerSingleton', 'registerInstance', 'registerType'],
    members: [
      'isRegistered',
      'createChildContainer',
      'registerSingleton',
      'registerInstance',
      'registerType',
      'clearInstances',
    ],
  },
  convert(rewriter, program) {
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node);
      else if (Node.isClassDeclaration(node)) convertClass(rewriter, node, program);
      else if (Node.isIdentifier(node)) convertName(rewriter, node, program);
    }
  },
};
