import {
  type ArrowFunction,
  type CallExpression,
  type ClassDeclaration,
  type Decorator,
  type Expression,
  type FunctionExpression,
  type NewExpression,
  Node,
  type ParameterDeclaration,
  type PropertyAccessExpression,
  type TypeReferenceNode,
} from 'ts-morph';
import { all, keyType, newContainer, optional, registration, type Service, singleton } from './core/ambit.js';
import { chainOf, type Link, replaceMethod } from './core/calls.js';
import { type Asked, convertConstructor, decoratorsOf, isInjected, nameOf } from './core/classes.js';
import { type Left, type Library, type Program, SEE_TABLE } from './core/model.js';
import { declarationsOf, isClass, settingsIn } from './core/names.js';
import type { Rewriter } from './core/rewriter.js';

const VARIANT = 'a key for each variant';
const PROPERTY = 'move it to a parameter of the constructor';

/** The replacement of an export that was left. */
const ADVICE: Readonly<Record<string, string>> = {
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

/** The replacement of a method of the container that was left. */
const METHODS: Readonly<Record<string, string>> = {
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
const COMPANIONS: Readonly<Record<string, string>> = {
  'inversify-express-utils':
    'routes are those of Express: containerMiddleware() of @ambit/express, and req.container.resolve(key) in a handler',
  'inversify-binding-decorators': 'container.addRegistration(Registration.fromClass(TheClass).to(key))',
  'inversify-inject-decorators': PROPERTY,
  'inversify-logger-middleware': 'diagnostics channels of @ambit/container',
  'inversify-react': 'pass the services as props or through a context of React',
};

/** `container.bind(X).to(Y).inSingletonScope()`, the outermost call of it. */
interface Binding {
  /** The object that `bind` is called on; undefined for the function that a module receives. */
  readonly container: Expression | undefined;
  readonly key: Node;
  readonly links: readonly Link[];
}

/** Reads a chain that begins with `bind`; undefined for an inner call of it, or for another call. */
function bindingOf(outermost: CallExpression): Binding | undefined {
  const parent = outermost.getParent();
  if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === outermost) return undefined;
  const chain = chainOf(outermost, isBind);
  const called = chain?.base.getExpression();
  const [key] = chain?.base.getArguments() ?? [];
  if (!chain || !key) return undefined;
  const container = Node.isPropertyAccessExpression(called) ? called.getExpression() : undefined;
  return { container, key, links: chain.links };
}

function isBind(call: CallExpression): boolean {
  const called = call.getExpression();
  if (call.getArguments().length !== 1) return false;
  return Node.isPropertyAccessExpression(called)
    ? called.getName() === 'bind'
    : Node.isIdentifier(called) && called.getText() === 'bind';
}

const REGISTRATION = 'container.addRegistration(Registration.fromClass(...).to(key))';

/** The replacement of a link that Ambit has no equal for. */
const LINKS: Readonly<Record<string, string>> = {
  inRequestScope:
    "one instance for each request: .pipe(singleton(), scope(hasTag('request'))) and createScope({ tags: ['request'] }) for each request",
  onActivation: '.pipe(decorate((instance, scope) => ...))',
  toResolvedValue: 'Registration.fromFactory(fn, [keys]).to(key)',
};
const WHEN = 'a key for each variant, which the class that needs it injects';

/** The binding as a registration, or why it cannot be said. */
function registrationOf(rewriter: Rewriter, binding: Binding, isSingleton: boolean): string | Left {
  const [first, ...others] = binding.links;
  if (!first) return { construct: 'bind without to', advice: REGISTRATION };
  const service = serviceOf(rewriter, binding.key, first);
  if (!service) return { construct: `.${first.name}`, advice: LINKS[first.name] ?? REGISTRATION };
  const isKept =
    first.name !== 'toConstantValue' &&
    !service.source.startsWith('alias(') &&
    !first.name.match(/to(?:Factory|AutoFactory|Provider|Constructor|Function)$/);
  let kept = isSingleton && isKept && first.name !== 'toDynamicValue';
  const modifiers: string[] = [];
  for (const { name, args } of others) {
    const [argument] = args;
    if (name === 'inSingletonScope') kept = isKept;
    else if (name === 'inTransientScope') kept = false;
    else if (name === 'onDeactivation' && argument)
      modifiers.push(`${rewriter.use('onDispose')}(${rewriter.text(argument)})`);
    else {
      const decorated = name === 'onActivation' ? activation(rewriter, argument) : undefined;
      if (decorated === undefined)
        return { construct: `.${name}`, advice: LINKS[name] ?? (name.startsWith('when') ? WHEN : REGISTRATION) };
      modifiers.push(decorated);
    }
  }
  if (kept) modifiers.unshift(singleton(rewriter));
  else if (modifiers.some((one) => one.includes('onDispose')))
    return {
      construct: '.onDeactivation',
      advice: '.pipe(singleton(), onDispose(fn)): only instances that the container keeps are disposed',
    };
  return registration(rewriter, { ...service, modifiers }, rewriter.text(binding.key));
}

function serviceOf(rewriter: Rewriter, key: Node, { name, args }: Link): Service | undefined {
  const [argument] = args;
  const modifiers: string[] = [];
  if (name === 'toSelf') return { source: `fromClass(${rewriter.text(key)})`, modifiers };
  if (!argument || args.length > 1) return undefined;
  const text = rewriter.text(argument);
  switch (name) {
    case 'to':
      return isClass(rewriter.origins, argument) ? { source: `fromClass(${text})`, modifiers } : undefined;
    case 'toConstantValue':
    case 'toConstructor':
    case 'toFunction':
      return { source: `fromValue(${text})`, modifiers };
    case 'toDynamicValue':
    case 'toFactory':
    case 'toProvider':
      return { source: `fromFactory(${text})`, modifiers };
    case 'toService':
      return { source: `alias(${text})`, modifiers };
    case 'toAutoFactory':
      return { source: `fromFactory((scope) => () => scope.resolve(${text}))`, modifiers };
    default:
      return undefined;
  }
}

/** `(context, instance) => ...` with its parameters in the order of `decorate`. */
function activation(rewriter: Rewriter, handler: Node | undefined): string | undefined {
  if (!Node.isArrowFunction(handler)) return undefined;
  const [context, instance, ...more] = handler.getParameters();
  if (!context || !instance || more.length > 0) return undefined;
  const body = rewriter.text(handler.getBody());
  const isAsync = handler.isAsync() ? 'async ' : '';
  return `${rewriter.use('decorate')}(${isAsync}(${rewriter.text(instance)}, ${rewriter.text(context)}) => ${body})`;
}

/** `new ContainerModule((bind) => ...)` is a function that takes the container. */
function convertModule(rewriter: Rewriter, node: NewExpression): void {
  if (!rewriter.names(node.getExpression(), 'ContainerModule')) return;
  const made = node.getArguments()[0];
  const isFunction = Node.isArrowFunction(made) || Node.isFunctionExpression(made);
  if (!isFunction || !isConvertible(made)) return;
  const type = rewriter.style.isTypeScript ? `: ${rewriter.useType('Container')}` : '';
  const result = rewriter.style.isTypeScript ? ': void' : '';
  rewriter.replace(node, `(${moduleParameter(made)}${type})${result} => ${rewriter.text(made.getBody())}`);
  rewriter.done('ContainerModule', node.getExpression());
  for (const parameter of made.getParameters()) rewriter.consume(parameter);
}

/** The name of the container in the function of a module. */
const moduleParameter = (made: ArrowFunction | FunctionExpression): string =>
  /\bcontainer\b/.test(made.getText()) ? 'target' : 'container';

/** Whether the function of a module only calls `bind` and `isBound`: it does not pass them on or remove bindings. */
function isConvertible(made: ArrowFunction | FunctionExpression): boolean {
  if (made.isAsync()) return false;
  const [first] = made.getParameters();
  const options =
    first && Node.isIdentifier(first.getNameNode()) && first.getName() !== 'bind' ? first.getName() : undefined;
  const names = new Set(made.getParameters().flatMap((one) => namesIn(one.getNameNode())));
  return made
    .getBody()
    .getDescendants()
    .every((node) => {
      if (!Node.isIdentifier(node) || !names.has(node.getText())) return true;
      const parent = node.getParent();
      if (Node.isPropertyAccessExpression(parent)) {
        if (parent.getNameNode() === node) return true;
        return node.getText() === options && isCalled(parent) && ['bind', 'isBound'].includes(parent.getName());
      }
      return isCalled(node) && ['bind', 'isBound'].includes(node.getText());
    });
}

const namesIn = (name: Node): string[] =>
  Node.isIdentifier(name)
    ? [name.getText()]
    : name.getDescendants().flatMap((one) => (Node.isBindingElement(one) ? [one.getName()] : []));

function isCalled(node: Node): boolean {
  const parent = node.getParent();
  return Node.isCallExpression(parent) && parent.getExpression() === node;
}

/** Whether the node is in a module that stays as it is. */
function isInLeftModule(rewriter: Rewriter, node: Node): boolean {
  const module = node.getFirstAncestor(
    (one) => Node.isNewExpression(one) && rewriter.names(one.getExpression(), 'ContainerModule'),
  );
  return module !== undefined && moduleOf(rewriter, node) === undefined;
}

/** Whether the expression is a module that stays as it is. */
function isLeftModule(rewriter: Rewriter, node: Node): boolean {
  return declarationsOf(node).some((one) => {
    const made = Node.isVariableDeclaration(one) ? one.getInitializer() : undefined;
    if (!Node.isNewExpression(made) || rewriter.origin(made.getExpression()) === undefined) return false;
    const [work] = made.getArguments();
    return !(Node.isArrowFunction(work) || Node.isFunctionExpression(work)) || !isConvertible(work);
  });
}

/** The function of the module around the node. */
function moduleOf(rewriter: Rewriter, node: Node): ArrowFunction | FunctionExpression | undefined {
  for (let at = node.getParent(); at; at = at.getParent()) {
    const parent = at.getParent();
    if (
      (Node.isArrowFunction(at) || Node.isFunctionExpression(at)) &&
      Node.isNewExpression(parent) &&
      rewriter.names(parent.getExpression(), 'ContainerModule') &&
      isConvertible(at)
    )
      return at;
  }
  return undefined;
}

/** `bind(...)` and what follows becomes `addRegistration(...)`. Returns whether the call is one of `bind`. */
function convertBind(rewriter: Rewriter, call: CallExpression, isSingleton: boolean | undefined): boolean {
  const binding = bindingOf(call);
  if (!binding || !isBindOf(rewriter, binding.container, call)) return false;
  const isOpen =
    isSingleton === undefined && !call.getText().match(/\.in(?:Singleton|Transient)Scope\(|\.toConstantValue\(/);
  const text = isOpen
    ? {
        construct: 'bind without a scope',
        advice: 'containers differ in defaultScope: add .pipe(singleton()) where it was Singleton',
      }
    : registrationOf(rewriter, binding, isSingleton ?? false);
  if (typeof text !== 'string') {
    rewriter.leave(call, text.construct, text.advice);
    return true;
  }
  rewriter.replace(call, `${receiver(rewriter, binding.container, call)}.addRegistration(${text})`);
  rewriter.done(`bind.${binding.links[0]?.name}`);
  if (/toDynamicValue\(\s*async/.test(call.getText()))
    rewriter.check(call, 'async toDynamicValue', 'who injects it receives the promise, and awaits it');
  return true;
}

/** Whether `bind` is that of a container or of a module, also where the type of the receiver is not known. */
function isBindOf(rewriter: Rewriter, container: Node | undefined, call: CallExpression): boolean {
  if (!container) return moduleOf(rewriter, call) !== undefined;
  if (rewriter.containers.has(container)) return true;
  return (
    Node.isIdentifier(container) && moduleOf(rewriter, call)?.getParameters()[0]?.getName() === container.getText()
  );
}

/** The object that `addRegistration` is called on. */
function receiver(rewriter: Rewriter, container: Node | undefined, call: CallExpression): string {
  const module = moduleOf(rewriter, call);
  if (
    !container ||
    (module && Node.isIdentifier(container) && module.getParameters()[0]?.getName() === container.getText())
  )
    return module ? moduleParameter(module) : 'container';
  return rewriter.text(container);
}

const FACTORIES = new Set(['toDynamicValue', 'toFactory', 'toProvider', 'onActivation', 'onDeactivation']);

/** Whether the name is the context that a factory of a binding receives. */
function isContext(rewriter: Rewriter, node: Node): boolean {
  if (!Node.isIdentifier(node)) return false;
  return (
    node
      .getSymbol()
      ?.getDeclarations()
      .some((one) => Node.isParameterDeclaration(one) && isContextParameter(rewriter, one)) ?? false
  );
}

function isContextParameter(rewriter: Rewriter, parameter: ParameterDeclaration): boolean {
  const type = parameter.getTypeNode();
  if (Node.isTypeReference(type)) {
    const name = rewriter.origin(type.getTypeName());
    if (name !== undefined) return name === 'interfaces.Context' || name === 'ResolutionContext';
  }
  const call = parameter.getParent()?.getParent();
  if (!Node.isCallExpression(call) || isInLeftModule(rewriter, call)) return false;
  const called = call.getExpression();
  return Node.isPropertyAccessExpression(called) && FACTORIES.has(called.getName()) && isFirst(parameter);
}

function isFirst(parameter: ParameterDeclaration): boolean {
  const made = parameter.getParent();
  return (Node.isArrowFunction(made) || Node.isFunctionExpression(made)) && made.getParameters()[0] === parameter;
}

/** `context.container` is the scope itself. */
function convertContext(rewriter: Rewriter, node: PropertyAccessExpression): void {
  if (node.getName() !== 'container') return;
  const context = node.getExpression();
  if (!isContext(rewriter, context)) return;
  const parent = node.getParent();
  rewriter.replace(node, context.getText());
  rewriter.done('context.container');
  if (!Node.isPropertyAccessExpression(parent))
    rewriter.check(node, 'context.container', 'a factory receives the scope as an IContainer');
}

/** Converts a call of `bind`, or of another method of the container. */
function convertCall(rewriter: Rewriter, call: CallExpression, isSingleton: boolean | undefined): void {
  if (convertBind(rewriter, call, isSingleton)) return;
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called)) {
    if (Node.isIdentifier(called) && called.getText() === 'isBound' && moduleOf(rewriter, call)) {
      rewriter.replace(called, `${receiver(rewriter, undefined, call)}.has`);
      rewriter.done('isBound');
    }
    return;
  }
  const object = called.getExpression();
  const isOfContext =
    isContext(rewriter, object) ||
    (Node.isPropertyAccessExpression(object) && isContext(rewriter, object.getExpression()));
  if (isOfContext || rewriter.containers.has(object)) convertMethod(rewriter, call, called, isOfContext);
}

function convertMethod(
  rewriter: Rewriter,
  call: CallExpression,
  called: PropertyAccessExpression,
  isOfContext: boolean,
): void {
  const method = called.getName();
  const args = call.getArguments();
  const rename = (to: string) => {
    rewriter.replace(called.getNameNode(), to);
    rewriter.done(`container.${method}`);
  };
  const parent = call.getParent();
  if (method === 'resolve' && args.length === 1) rewriter.done('container.resolve');
  else if (method === 'get' && args.length === 1) rename('resolve');
  else if (method === 'getAll' && args.length === 1 && !isOfContext) rename('resolveAll');
  else if (method === 'getAsync' && args.length === 1 && Node.isAwaitExpression(parent)) rename('resolve');
  else if (method === 'isBound' && args.length === 1 && !isOfContext) rename('has');
  else if (method === 'createChild' && args.length === 0) {
    replaceMethod(rewriter, call, called, 'createScope()');
    rewriter.done('container.createChild');
  } else if (method === 'load' && isConvertibleLoad(rewriter, call)) {
    const container = rewriter.text(called.getExpression());
    const lines = args.map((one) =>
      Node.isSpreadElement(one)
        ? `for (const load of ${rewriter.text(one.getExpression())}) load(${container})`
        : `${rewriter.text(one)}(${container})`,
    );
    rewriter.replace(call, lines.join(`${rewriter.style.semicolon}\n${call.getIndentationText()}`));
    rewriter.done('container.load');
  } else if (method !== 'bind') rewriter.leave(call, `container.${method}`, METHODS[method] ?? SEE_TABLE);
}

/** Whether the modules that `load` gets were converted, and nothing uses its result. */
const isConvertibleLoad = (rewriter: Rewriter, call: CallExpression): boolean =>
  Node.isExpressionStatement(call.getParent()) &&
  call.getArguments().length > 0 &&
  !call.getArguments().some((one) => isLeftModule(rewriter, one));

/** The dependency that the decorators of a parameter name. */
function readParameter(rewriter: Rewriter, found: ReadonlyMap<string, Decorator>): Asked {
  const other = Array.from(found.keys()).find((one) => !['inject', 'multiInject', 'optional'].includes(one));
  if (other !== undefined) return { construct: `@${other}`, advice: ADVICE[other] ?? SEE_TABLE };
  const decorator = found.get('inject') ?? found.get('multiInject');
  const [token] = decorator?.getArguments() ?? [];
  if (!token) return { construct: '@optional without a key', advice: '@inject(optional(key))' };
  const lazy = Node.isNewExpression(token) ? rewriter.origin(token.getExpression()) : undefined;
  if (lazy !== undefined) return { construct: `@inject(new ${lazy}(...))`, advice: ADVICE[lazy] ?? 'a key' };
  const key = rewriter.text(token);
  if (found.has('multiInject')) return all(rewriter, key);
  return found.has('optional') ? optional(rewriter, key) : key;
}

/** Removes `@injectable()`, and converts the parameters of the constructor. */
function convertClass(rewriter: Rewriter, declaration: ClassDeclaration): void {
  const decorators = decoratorsOf(rewriter, declaration);
  if (decorators.size === 0 && !isInjected(rewriter, declaration)) return;
  const injectable = decorators.get('injectable');
  if (injectable) {
    if (injectable.getArguments().length > 0)
      rewriter.check(
        injectable,
        '@injectable with a scope',
        'name the lifetime in the registration: .pipe(singleton())',
      );
    rewriter.remove(injectable);
    rewriter.done('@injectable', nameOf(injectable));
    for (const argument of injectable.getArguments()) rewriter.consume(argument);
  }
  convertConstructor(rewriter, declaration, (found) => readParameter(rewriter, found));
}

/** Converts `new Container(...)`, unless it has a parent. */
function convertContainer(rewriter: Rewriter, node: NewExpression): void {
  if (!rewriter.names(node.getExpression(), 'Container')) return;
  const [options] = node.getArguments();
  const isPlain =
    !options ||
    (Node.isObjectLiteralExpression(options) &&
      options.getProperties().every((one) => Node.isPropertyAssignment(one) && one.getName() !== 'parent'));
  if (!isPlain) {
    rewriter.leave(node, 'new Container with a parent', "parent.createScope({ tags: ['request'] })");
    return;
  }
  rewriter.replace(node, newContainer(rewriter));
  rewriter.done('new Container', node.getExpression());
  if (options) rewriter.consume(options);
}

/** Lists `container.parent`, which can be assigned in inversify. */
function listParent(rewriter: Rewriter, node: PropertyAccessExpression): void {
  if (node.getName() !== 'parent' || !rewriter.containers.has(node.getExpression())) return;
  rewriter.leave(
    node,
    'container.parent',
    "parent.createScope({ tags: ['request'] }) makes a child; its parent cannot be changed",
  );
}

/** Whether the containers of the program make a binding a singleton if it does not say its scope; undefined where they differ. */
function isSingletonByDefault(program: Program, modules: readonly string[]): boolean | undefined {
  const [first = false, ...others] = settingsIn<boolean>(program, modules, /Container/, (node, origins) => {
    if (!Node.isNewExpression(node) || origins.of(node.getExpression()) !== 'Container') return undefined;
    return /defaultScope['"]?:\s*(?:\w+\.)*['"]?Singleton/.test(node.getText());
  });
  return others.length > 0 ? undefined : first;
}

/** Converts a type of inversify. */
function convertType(rewriter: Rewriter, reference: TypeReferenceNode): void {
  const name = reference.getTypeName();
  const become = (node: Node, text: string) => {
    rewriter.replace(node, text);
    rewriter.done('type', name);
  };
  switch (rewriter.origin(name)) {
    case 'interfaces.Context':
    case 'ResolutionContext':
      become(reference, rewriter.useType('IContainer'));
      return;
    case 'Container':
    case 'interfaces.Container':
      become(reference, rewriter.useType('Container'));
      return;
    case 'ServiceIdentifier':
    case 'interfaces.ServiceIdentifier':
      become(reference, keyType(rewriter, reference));
      return;
    case 'Newable':
    case 'interfaces.Newable':
      become(name, rewriter.useType('Class'));
      return;
    case undefined:
    default:
  }
}

const MODULES = ['inversify', '@inversifyjs/core', '@inversifyjs/container'];

/** Converts programs of inversify. */
export const inversify: Library = {
  name: 'inversify',
  modules: MODULES,
  companions: COMPANIONS,
  advice: ADVICE,
  page: 'inversify',
  containers: {
    values: [],
    creators: ['Container'],
    types: ['Container', 'interfaces.Container'],
    methods: ['createChild'],
    members: ['isBound', 'rebind', 'getNamed', 'getTagged', 'tryGet', 'applyMiddleware'],
  },
  convert(rewriter, program) {
    const isSingleton = isSingletonByDefault(program, MODULES);
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node, isSingleton);
      else if (Node.isNewExpression(node)) {
        convertContainer(rewriter, node);
        convertModule(rewriter, node);
      } else if (Node.isClassDeclaration(node)) convertClass(rewriter, node);
      else if (Node.isPropertyAccessExpression(node)) {
        listParent(rewriter, node);
        convertContext(rewriter, node);
      } else if (Node.isTypeReference(node)) convertType(rewriter, node);
    }
  },
};
