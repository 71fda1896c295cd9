import { Node, type CallExpression, type ClassDeclaration, type Decorator, type Identifier } from 'ts-morph';
import { convertConstructor, decoratorsOf, isClass, isToken, nameOf, type Asked } from '../core/classes.js';
import { convertGlobal } from '../core/global.js';
import type { Library } from '../core/library.js';
import type { Program } from '../core/model.js';
import { indentOf, keyType, registration, singleton } from '../core/registrations.js';
import type { Rewriter } from '../core/rewriter.js';
import { modifiersOf, optionsOf, serviceOf } from './provider.js';

const LAZY =
  "register both classes under string keys, and use inject(lazy('IOther')): a function that resolves the service when it is called";

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

const METHODS: Readonly<Record<string, string>> = {
  reset: 'make a new Container for each test, or use override() of @ambit/container/tools',
  clearInstances: 'make a new Container for each test, or use override() of @ambit/container/tools',
  beforeResolution: 'decorate(wrap) in .pipe(...)',
  afterResolution: 'decorate(wrap) in .pipe(...), which wraps each instance when it is made',
};

/** Converts programs of tsyringe. */
export const tsyringe: Library = {
  name: 'tsyringe',
  modules: ['tsyringe'],
  companions: {},
  advice: ADVICE,
  containers: {
    values: ['container'],
    creators: [],
    types: ['DependencyContainer'],
    methods: ['createChildContainer', 'register', 'registerSingleton', 'registerInstance', 'registerType'],
  },
  convert(rewriter, program) {
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node);
      else if (Node.isClassDeclaration(node)) convertClass(rewriter, node, program);
      else if (Node.isIdentifier(node)) convertName(rewriter, node, program);
    }
  },
};

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

function convertClass(rewriter: Rewriter, declaration: ClassDeclaration, program: Program): void {
  const decorators = decoratorsOf(rewriter, declaration);
  if (decorators.size === 0) return;
  if (decorators.has('autoInjectable')) return;
  const own = declaration.getName();
  const after: string[] = [];
  for (const [name, decorator] of decorators) {
    const registered = own === undefined ? undefined : ofDecorator(rewriter, name, decorator, own);
    if (!registered) {
      const scope = decorator.getArguments()[0];
      const text = `@${name}`;
      rewriter.leave(
        decorator,
        text,
        ADVICE[(scope && rewriter.origin(scope)) ?? name] ?? `register the class with ${rewriter.use('Registration')}`,
      );
      continue;
    }
    after.push(...registered);
    rewriter.remove(decorator);
    rewriter.done(`@${name}`, nameOf(decorator));
    for (const argument of decorator.getArguments())
      if (rewriter.origin(argument) !== undefined) rewriter.consume(argument);
  }
  convertConstructor(rewriter, declaration, (_, found) => readParameter(rewriter, found));
  if (after.length === 0) return;
  const indent = indentOf(declaration);
  const list =
    after.length === 1 ? after.join('') : `\n${after.map((one) => `${indent}  ${one},\n`).join('')}${indent}`;
  const container = rewriter.use('container', program.globalModule);
  rewriter.insert(declaration.getEnd(), `\n${indent}${container}.addRegistration(${list})${rewriter.semicolon}`);
}

/** The registrations that a class decorator stands for; undefined where Ambit has no equal. */
function ofDecorator(rewriter: Rewriter, name: string, decorator: Decorator, own: string): string[] | undefined {
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
      const all = first.getElements().map((element) => ofRegistry(rewriter, element));
      return all.every((one) => one !== undefined) ? all : undefined;
    }
    default:
      return undefined;
  }
}

const SCOPED = "available in scopes with the tag 'request' only; resolving it in the application is an error";

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

function readParameter(rewriter: Rewriter, found: ReadonlyMap<string, Decorator>): Asked {
  const [[name, decorator] = ['', undefined], ...others] = found;
  const [token, options] = decorator?.getArguments() ?? [];
  if (token && others.length === 0 && (name === 'inject' || name === 'injectAll')) {
    if (Node.isCallExpression(token) && rewriter.names(token.getExpression(), 'delay'))
      return { left: '@inject(delay(() => ...))', advice: LAZY };
    const key = rewriter.text(token);
    const isOptional = options?.getText().replaceAll(/\s/g, '') === '{isOptional:true}';
    if (name === 'injectAll' && (!options || isOptional)) return { dependency: `${rewriter.use('all')}(${key})` };
    if (name === 'inject' && isOptional) return { dependency: `${rewriter.use('optional')}(${key})` };
    if (!options) return { dependency: key };
  }
  return { left: `@${name}`, advice: ADVICE[name] ?? 'see the table of constructs' };
}

function convertCall(rewriter: Rewriter, call: CallExpression): void {
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called) || !rewriter.containers.has(called.getExpression())) return;
  const method = called.getName();
  /** Replaces the method and its arguments; what it is called on stays. */
  const become = (text: string) => {
    rewriter.replaceRange(called.getNameNode().getStart(), call.getEnd(), text);
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
      if (token) become(`has(${rewriter.text(token)})`);
      return;
    case 'createChildContainer':
      become(`createScope({ tags: [${rewriter.string('request')}] })`);
      return;
    case 'register':
    case 'registerSingleton':
    case 'registerInstance':
    case 'registerType': {
      const text = token && registering(rewriter, method, token, provider, options);
      if (text === undefined) {
        rewriter.leave(call, `container.${method}`, adviceFor(rewriter, call));
        return;
      }
      if (options) rewriter.consume(options);
      become(`addRegistration(${text})`);
      return;
    }
    default:
      rewriter.leave(call, `container.${method}`, METHODS[method] ?? 'see the table of constructs');
  }
}

/** What is said of the first name in the call that Ambit has no equal for. */
function adviceFor(rewriter: Rewriter, call: CallExpression): string {
  for (const node of call.getDescendants()) {
    const advice = ADVICE[rewriter.origin(node) ?? ''];
    if (advice !== undefined) return advice;
  }
  return 'container.addRegistration(Registration.fromClass(...).to(key))';
}

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
  if (!isClass(rewriter, target)) return undefined;
  return registration(rewriter, { source: `fromClass(${rewriter.text(target)})`, modifiers }, key);
}
