import {
  Node,
  type ArrowFunction,
  type CallExpression,
  type ClassDeclaration,
  type Decorator,
  type FunctionExpression,
  type NewExpression,
  type ParameterDeclaration,
} from 'ts-morph';
import { convertConstructor, decoratorsOf, nameOf, type Asked } from '../core/classes.js';
import { resolved } from '../core/containers.js';
import type { Library } from '../core/library.js';
import type { Program } from '../core/model.js';
import { keyType } from '../core/registrations.js';
import type { Rewriter } from '../core/rewriter.js';
import { Origins } from '../core/origin.js';
import { chainOf, registrationOf } from './binding.js';

const MODULES = ['inversify', '@inversifyjs/core', '@inversifyjs/container'];
const VARIANT = 'a key for each variant';
const PROPERTY = 'move it to a parameter of the constructor';

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

/** Converts programs of inversify. */
export const inversify: Library = {
  name: 'inversify',
  modules: MODULES,
  companions: {
    'inversify-express-utils':
      'routes are those of Express: containerMiddleware() of @ambit/express, and req.container.resolve(key) in a handler',
    'inversify-binding-decorators': 'container.addRegistration(Registration.fromClass(TheClass).to(key))',
    'inversify-inject-decorators': PROPERTY,
    'inversify-logger-middleware': 'diagnostics channels of @ambit/container',
    'inversify-react': 'pass the services as props or through a context of React',
  },
  advice: ADVICE,
  containers: {
    values: [],
    creators: ['Container'],
    types: ['Container', 'interfaces.Container'],
    methods: ['createChild'],
  },
  convert(rewriter, program) {
    const isSingleton = defaultScope(program);
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node, isSingleton);
      else if (Node.isNewExpression(node)) convertNew(rewriter, node);
      else if (Node.isClassDeclaration(node)) convertClass(rewriter, node);
      else if (Node.isPropertyAccessExpression(node)) convertContext(rewriter, node);
      else if (Node.isTypeReference(node)) convertType(rewriter, node.getTypeName(), node);
    }
  },
};

/** Whether the containers of the program make a binding a singleton if it does not say its scope; undefined where they differ. */
function defaultScope(program: Program): boolean | undefined {
  const origins = new Origins(MODULES);
  const scopes = new Set<boolean>();
  for (const file of program.files) {
    if (!file.getFullText().includes('Container')) continue;
    for (const node of file.getDescendants()) {
      if (!Node.isNewExpression(node) || origins.of(node.getExpression()) !== 'Container') continue;
      scopes.add(/defaultScope['"]?:\s*(?:\w+\.)*['"]?Singleton/.test(node.getText()));
    }
  }
  return scopes.size > 1 ? undefined : scopes.has(true);
}

function convertNew(rewriter: Rewriter, node: NewExpression): void {
  const name = rewriter.origin(node.getExpression());
  if (name === 'Container') {
    const [options] = node.getArguments();
    const isPlain =
      !options ||
      (Node.isObjectLiteralExpression(options) &&
        options.getProperties().every((one) => Node.isPropertyAssignment(one) && one.getName() !== 'parent'));
    if (!isPlain) {
      rewriter.leave(node, 'new Container with a parent', "parent.createScope({ tags: ['request'] })");
      return;
    }
    rewriter.replace(node, `new ${rewriter.use('Container')}({ tags: [${rewriter.string('application')}] })`);
    rewriter.done('new Container', node.getExpression());
    if (options) rewriter.consume(options);
  } else if (name === 'ContainerModule') convertModule(rewriter, node);
}

/** `new ContainerModule((bind) => ...)` is a function that takes the container. */
function convertModule(rewriter: Rewriter, node: NewExpression): void {
  const made = node.getArguments()[0];
  const isFunction = Node.isArrowFunction(made) || Node.isFunctionExpression(made);
  if (!isFunction || !isConvertible(made)) return;
  const type = rewriter.isTypeScript ? `: ${rewriter.useType('Container')}` : '';
  const result = rewriter.isTypeScript ? ': void' : '';
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

function isInLeftModule(rewriter: Rewriter, node: Node): boolean {
  const module = node.getFirstAncestor(
    (one) => Node.isNewExpression(one) && rewriter.names(one.getExpression(), 'ContainerModule'),
  );
  return module !== undefined && moduleOf(rewriter, node) === undefined;
}

/** Whether the expression is a module that stays as it is. */
function isLeftModule(rewriter: Rewriter, node: Node): boolean {
  const symbol = (Node.isPropertyAccessExpression(node) ? node.getNameNode() : node).getSymbol();
  return (
    symbol !== undefined &&
    resolved(symbol)
      .getDeclarations()
      .some((one) => {
        const made = Node.isVariableDeclaration(one) ? one.getInitializer() : undefined;
        if (!Node.isNewExpression(made) || rewriter.origin(made.getExpression()) === undefined) return false;
        const [work] = made.getArguments();
        return !(Node.isArrowFunction(work) || Node.isFunctionExpression(work)) || !isConvertible(work);
      })
  );
}

function convertCall(rewriter: Rewriter, call: CallExpression, isSingleton: boolean | undefined): void {
  const chain = chainOf(call);
  if (chain && isBind(rewriter, chain.container, call)) {
    const isOpen =
      isSingleton === undefined && !call.getText().match(/\.in(?:Singleton|Transient)Scope\(|\.toConstantValue\(/);
    const text = isOpen
      ? {
          construct: 'bind without a scope',
          advice: 'containers differ in defaultScope: add .pipe(singleton()) where it was Singleton',
        }
      : registrationOf(rewriter, chain, isSingleton ?? false);
    if (typeof text !== 'string') {
      rewriter.leave(call, text.construct, text.advice);
      return;
    }
    rewriter.replace(call, `${receiver(rewriter, chain.container, call)}.addRegistration(${text})`);
    rewriter.done(`bind.${chain.links[0]?.name}`);
    if (/toDynamicValue\(\s*async/.test(call.getText()))
      rewriter.check(call, 'async toDynamicValue', 'who injects it receives the promise, and awaits it');
    return;
  }
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called)) {
    if (Node.isIdentifier(called) && called.getText() === 'isBound' && moduleOf(rewriter, call)) {
      rewriter.replace(called, `${receiver(rewriter, undefined, call)}.has`);
      rewriter.done('isBound');
    }
    return;
  }
  const object = called.getExpression();
  const isContext =
    isContextOf(rewriter, object) ||
    (Node.isPropertyAccessExpression(object) && isContextOf(rewriter, object.getExpression()));
  if (isContext || rewriter.containers.has(object)) convertMethod(rewriter, call, called.getName(), isContext);
}

function convertMethod(rewriter: Rewriter, call: CallExpression, method: string, isContext: boolean): void {
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called)) return;
  const args = call.getArguments();
  const rename = (to: string) => {
    rewriter.replace(called.getNameNode(), to);
    rewriter.done(`container.${method}`);
  };
  const parent = call.getParent();
  if (method === 'resolve' && args.length === 1) rewriter.done('container.resolve');
  else if (method === 'get' && args.length === 1) rename('resolve');
  else if (method === 'getAll' && args.length === 1 && !isContext) rename('resolveAll');
  else if (method === 'getAsync' && args.length === 1 && Node.isAwaitExpression(parent)) rename('resolve');
  else if (method === 'isBound' && args.length === 1 && !isContext) rename('has');
  else if (method === 'createChild' && args.length === 0) {
    rewriter.replaceRange(called.getNameNode().getStart(), call.getEnd(), 'createScope()');
    rewriter.done('container.createChild');
  } else if (
    method === 'load' &&
    Node.isExpressionStatement(parent) &&
    args.length > 0 &&
    !args.some((one) => isLeftModule(rewriter, one))
  ) {
    const container = rewriter.text(called.getExpression());
    const lines = args.map((one) =>
      Node.isSpreadElement(one)
        ? `for (const load of ${rewriter.text(one.getExpression())}) load(${container})`
        : `${rewriter.text(one)}(${container})`,
    );
    rewriter.replace(call, lines.join(`${rewriter.semicolon}\n${call.getIndentationText()}`));
    rewriter.done('container.load');
  } else if (method !== 'bind')
    rewriter.leave(call, `container.${method}`, METHODS[method] ?? 'see the table of constructs');
}

/** Whether `bind` is that of a container or of a module, also where the type of the receiver is not known. */
function isBind(rewriter: Rewriter, container: Node | undefined, call: CallExpression): boolean {
  if (!container) return moduleOf(rewriter, call) !== undefined;
  if (rewriter.containers.has(container)) return true;
  return (
    Node.isIdentifier(container) && moduleOf(rewriter, call)?.getParameters()[0]?.getName() === container.getText()
  );
}

/** What `addRegistration` is called on. */
function receiver(rewriter: Rewriter, container: Node | undefined, call: CallExpression): string {
  const module = moduleOf(rewriter, call);
  if (
    !container ||
    (module && Node.isIdentifier(container) && module.getParameters()[0]?.getName() === container.getText())
  )
    return module ? moduleParameter(module) : 'container';
  return rewriter.text(container);
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

const FACTORIES = new Set(['toDynamicValue', 'toFactory', 'toProvider', 'onActivation', 'onDeactivation']);

/** Whether the name is the context that a factory of a binding receives. */
function isContextOf(rewriter: Rewriter, node: Node): boolean {
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
function convertContext(rewriter: Rewriter, node: Node): void {
  if (!Node.isPropertyAccessExpression(node)) return;
  if (node.getName() === 'parent' && rewriter.containers.has(node.getExpression())) {
    rewriter.leave(
      node,
      'container.parent',
      "parent.createScope({ tags: ['request'] }) makes a child; its parent cannot be changed",
    );
    return;
  }
  if (node.getName() !== 'container') return;
  const context = node.getExpression();
  if (!isContextOf(rewriter, context)) return;
  const parent = node.getParent();
  rewriter.replace(node, context.getText());
  rewriter.done('context.container');
  if (!Node.isPropertyAccessExpression(parent))
    rewriter.check(node, 'context.container', 'a factory receives the scope as an IContainer');
}

function convertType(rewriter: Rewriter, name: Node, reference: Node): void {
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

function convertClass(rewriter: Rewriter, declaration: ClassDeclaration): void {
  const decorators = decoratorsOf(rewriter, declaration);
  const isInjected = declaration
    .getConstructors()
    .some((one) => one.getParameters().some((parameter) => decoratorsOf(rewriter, parameter).size > 0));
  if (decorators.size === 0 && !isInjected) return;
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
  convertConstructor(rewriter, declaration, (_, found) => readParameter(rewriter, found));
}

function readParameter(rewriter: Rewriter, found: ReadonlyMap<string, Decorator>): Asked {
  const other = Array.from(found.keys()).find((one) => !['inject', 'multiInject', 'optional'].includes(one));
  if (other !== undefined) return { left: `@${other}`, advice: ADVICE[other] ?? 'see the table of constructs' };
  const decorator = found.get('inject') ?? found.get('multiInject');
  const [token] = decorator?.getArguments() ?? [];
  if (!token) return { left: '@optional without a key', advice: '@inject(optional(key))' };
  const lazy = Node.isNewExpression(token) ? rewriter.origin(token.getExpression()) : undefined;
  if (lazy !== undefined) return { left: `@inject(new ${lazy}(...))`, advice: ADVICE[lazy] ?? 'a key' };
  const key = rewriter.text(token);
  if (found.has('multiInject')) return { dependency: `${rewriter.use('all')}(${key})` };
  return { dependency: found.has('optional') ? `${rewriter.use('optional')}(${key})` : key };
}
