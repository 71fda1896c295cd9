import {
  Node,
  type CallExpression,
  type ClassDeclaration,
  type Decorator,
  type PropertyAccessExpression,
  type Symbol as TsSymbol,
} from 'ts-morph';
import { convertConstructor, decoratorsOf, nameOf, type Asked } from '../core/classes.js';
import { resolved } from '../core/containers.js';
import type { Library } from '../core/library.js';
import type { Rewriter } from '../core/rewriter.js';

const MODIFIERS = 'modifiers in .pipe(...) of the registration';
const CONSTRUCTOR = 'a list of keys: Registration.fromClass(TheClass, [keys]), or @inject(key) on each parameter';
const ALIAS = 'register under one key, and inject all(key)';

const ADVICE: Readonly<Record<string, string>> = {
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
const METHODS: Readonly<Record<string, string>> = {
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
const KEPT_PER_SCOPE =
  'one instance for the container it is added to; ts-ioc-container keeps one in each scope that resolves it: add scope(hasTag(...)) for that';

/** Converts programs of ts-ioc-container. */
export const tsIocContainer: Library = {
  name: 'ts-ioc-container',
  modules: ['ts-ioc-container'],
  companions: {},
  advice: ADVICE,
  containers: {
    values: [],
    creators: ['Container'],
    types: ['Container', 'IContainer'],
    methods: ['createScope', 'add', 'addRegistration', 'use', 'useModule', 'register'],
  },
  convert(rewriter) {
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node);
      else if (Node.isNewExpression(node)) convertNew(rewriter, node);
      else if (Node.isClassDeclaration(node)) convertClass(rewriter, node);
      else if (Node.isTypeReference(node)) convertType(rewriter, node);
    }
  },
};

function convertNew(rewriter: Rewriter, node: Node): void {
  if (!Node.isNewExpression(node)) return;
  const name = rewriter.origin(node.getExpression());
  const args = node.getArguments();
  if (name === 'SingleToken') {
    const [key] = args;
    if (!key || args.length > 1) return;
    rewriter.replace(node, rewriter.text(key));
    rewriter.done('token', node.getExpression());
    return;
  }
  if (name !== 'Container') return;
  const [first] = args;
  const injector = Node.isNewExpression(first) ? rewriter.origin(first.getExpression()) : undefined;
  if (injector !== undefined && injector !== 'MetadataInjector') return;
  const rest = args.filter((one) => one !== first || injector === undefined).map((one) => rewriter.text(one));
  rewriter.replace(node, `new ${rewriter.use('Container')}(${rest.join(', ')})`);
  rewriter.done('new Container', node.getExpression());
  if (injector !== undefined && first) rewriter.consume(first);
}

function convertType(rewriter: Rewriter, node: Node): void {
  if (!Node.isTypeReference(node)) return;
  const name = node.getTypeName();
  const to = TYPES[rewriter.origin(name) ?? ''];
  if (to === undefined) return;
  const isInFactory = node.getFirstAncestor(
    (one) => Node.isCallExpression(one) && /\.(?:fromFn|pipe)$/.test(one.getExpression().getText()),
  );
  rewriter.replace(name, rewriter.useType(to === 'Container' && isInFactory ? 'IContainer' : to));
  rewriter.done('type', name);
}

const TYPES: Readonly<Record<string, string>> = {
  IContainer: 'Container',
  Container: 'Container',
  DependencyKey: 'Key',
  constructor: 'Class',
};

function convertCall(rewriter: Rewriter, call: CallExpression): void {
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called)) return;
  if (isTokenName(called.getExpression())) {
    convertToken(rewriter, call, called);
    return;
  }
  if (!rewriter.containers.has(called.getExpression())) return;
  const method = called.getName();
  const args = call.getArguments();
  switch (method) {
    case 'add':
    case 'addRegistration': {
      const all = args.map((one) => registrationOf(rewriter, one));
      const isDone = all.every((one) => one !== undefined);
      if (!isDone) {
        for (const [i, text] of all.entries()) {
          const argument = args[i];
          if (text === undefined && argument) rewriter.leave(argument, 'registration', adviceFor(rewriter, argument));
        }
        return;
      }
      for (const [i, text] of all.entries()) {
        const argument = args[i];
        if (argument && text !== undefined) rewriter.replace(argument, text);
        rewriter.done('Registration', argument);
      }
      rewriter.replace(called.getNameNode(), 'addRegistration');
      return;
    }
    case 'createScope': {
      const [first] = args;
      if (first && !Node.isObjectLiteralExpression(first)) {
        const tags = args.map((one) => rewriter.text(one)).join(', ');
        rewriter.replaceRange(called.getNameNode().getStart(), call.getEnd(), `createScope({ tags: [${tags}] })`);
      }
      rewriter.done('container.createScope');
      return;
    }
    case 'resolve':
      if (args.length === 1) rewriter.done('container.resolve');
      else
        rewriter.leave(
          call,
          'container.resolve with arguments',
          'a factory of your own that is injected, and called with the arguments',
        );
      return;
    case 'dispose':
    case 'hasTag':
      rewriter.done(`container.${method}`);
      return;
    default:
      rewriter.leave(call, `container.${method}`, METHODS[method] ?? 'see the table of constructs');
  }
}

/** A name that holds a `SingleToken`. */
function isTokenName(node: Node): boolean {
  const symbol = Node.isIdentifier(node) ? node.getSymbol() : undefined;
  return (
    symbol !== undefined &&
    resolved(symbol)
      .getDeclarations()
      .some((one) => {
        const value = Node.isVariableDeclaration(one) ? one.getInitializer() : undefined;
        return Node.isNewExpression(value) && value.getExpression().getText() === 'SingleToken';
      })
  );
}

/** `token.resolve(scope)`: the token is a string now. */
function convertToken(rewriter: Rewriter, call: CallExpression, called: PropertyAccessExpression): void {
  const [scope, ...more] = call.getArguments();
  if (called.getName() !== 'resolve' || !scope || more.length > 0) {
    rewriter.leave(call, `token.${called.getName()}`, 'lazy(key), or a factory of your own');
    return;
  }
  rewriter.replace(call, `${rewriter.text(scope)}.resolve(${rewriter.text(called.getExpression())})`);
  rewriter.done('token.resolve');
}

function adviceFor(rewriter: Rewriter, node: Node): string {
  for (const one of node.getDescendants()) {
    const advice = ADVICE[rewriter.origin(one) ?? ''];
    if (advice !== undefined) return advice;
  }
  return 'Registration.fromClass(TheClass).pipe(...).to(key)';
}

/** `R.fromClass(Users).pipe(singleton()).to('users')`, whatever the order of its calls. */
function registrationOf(rewriter: Rewriter, node: Node): string | undefined {
  const modifiers: string[] = [];
  let key: string | undefined;
  let at = node;
  while (Node.isCallExpression(at)) {
    const called: Node = at.getExpression();
    if (!Node.isPropertyAccessExpression(called)) return undefined;
    const args: Node[] = at.getArguments();
    const [argument] = args;
    const name = called.getName();
    if (rewriter.names(called.getExpression(), 'Registration')) {
      const source = argument && args.length === 1 ? sourceOf(rewriter, name, argument) : undefined;
      if (!source) return undefined;
      const piped = modifiers.length > 0 ? `.pipe(${modifiers.join(', ')})` : '';
      if (source.hasKey) return piped === '' && key === undefined ? source.text : undefined;
      const ownKey = key ?? (name === 'fromClass' && argument ? rewriter.string(argument.getText()) : undefined);
      return ownKey === undefined ? undefined : `${source.text}${piped}.to(${ownKey})`;
    }
    if (
      (name === 'to' || name === 'bindTo' || name === 'bindToKey') &&
      argument &&
      args.length === 1 &&
      key === undefined
    )
      key = rewriter.text(argument);
    else if (name === 'pipe') {
      const all = args.map((one) => modifierOf(rewriter, one));
      if (all.some((one) => one === undefined)) return undefined;
      modifiers.unshift(...all.filter((one) => one !== undefined));
    } else if (name === 'when' && argument && args.length === 1)
      modifiers.unshift(`${rewriter.use('scope')}(${rewriter.text(argument)})`);
    else return undefined;
    at = called.getExpression();
  }
  return undefined;
}

function sourceOf(rewriter: Rewriter, name: string, argument: Node): { text: string; hasKey: boolean } | undefined {
  const registration = rewriter.use('Registration');
  const text = rewriter.text(argument);
  if (name === 'fromValue') return { text: `${registration}.fromValue(${text})`, hasKey: false };
  if (name === 'fromFn') {
    if (Node.isArrowFunction(argument) && argument.getParameters().length > 1) return undefined;
    return { text: `${registration}.fromFactory(${text})`, hasKey: false };
  }
  if (name !== 'fromClass') return undefined;
  const symbol = Node.isIdentifier(argument) ? argument.getSymbol() : undefined;
  const declaration = symbol && classOf(symbol);
  if (!declaration || decoratorsOf(rewriter, declaration).size === 0)
    return { text: `${registration}.fromClass(${text})`, hasKey: false };
  const plan = planOf(rewriter, declaration);
  if (!plan) return undefined;
  const isHere = declaration.getSourceFile() === rewriter.file;
  const path = declaration.getSourceFile().getFilePath();
  return { text: isHere ? plan.name : rewriter.use(plan.name, path), hasKey: plan.key !== undefined };
}

const classOf = (symbol: TsSymbol): ClassDeclaration | undefined =>
  resolved(symbol)
    .getDeclarations()
    .find((one) => Node.isClassDeclaration(one));

function modifierOf(rewriter: Rewriter, node: Node): string | undefined {
  if (!Node.isCallExpression(node)) return undefined;
  const args = node.getArguments();
  const [argument] = args;
  const name = rewriter.origin(node.getExpression());
  if (name === 'singleton' && !argument) {
    return `${rewriter.use('singleton')}()`;
  }
  if ((name === 'scope' || name === 'decorate') && argument && args.length === 1)
    return `${rewriter.use(name)}(${rewriter.text(argument)})`;
  return undefined;
}

/** The registration that the decorators of a class stand for. */
interface ClassPlan {
  /** What it is called in the file of the class. */
  readonly name: string;
  readonly modifiers: readonly string[];
  readonly key: string | undefined;
}

/** What `@register(...)` and `@provider(...)` of the class say; undefined where Ambit has no equal. */
function planOf(rewriter: Rewriter, declaration: ClassDeclaration): ClassPlan | undefined {
  const own = declaration.getName();
  const decorators = decoratorsOf(rewriter, declaration);
  if (own === undefined || Array.from(decorators.keys()).some((one) => one !== 'register' && one !== 'provider'))
    return undefined;
  const modifiers: string[] = [];
  let key: string | undefined;
  // `scope` of the class goes with `singleton` of its provider.
  for (const decorator of [decorators.get('provider'), decorators.get('register')]) {
    for (const argument of decorator?.getArguments() ?? []) {
      const bound = keyIn(rewriter, argument);
      if (bound !== undefined && key === undefined) key = bound;
      else {
        const modifier = modifierOf(rewriter, argument);
        if (modifier === undefined) return undefined;
        modifiers.push(modifier);
      }
    }
  }
  return { name: `${own[0]?.toLowerCase()}${own.slice(1)}Registration`, modifiers, key };
}

/** The key of `key('IUsers')` or `bindTo('IUsers')`. */
function keyIn(rewriter: Rewriter, node: Node): string | undefined {
  if (!Node.isCallExpression(node) || !rewriter.names(node.getExpression(), 'key', 'bindTo')) return undefined;
  const [argument, ...others] = node.getArguments();
  if (!argument || others.length > 0 || Node.isCallExpression(argument)) return undefined;
  return rewriter.text(argument);
}

function convertClass(rewriter: Rewriter, declaration: ClassDeclaration): void {
  const decorators = decoratorsOf(rewriter, declaration);
  const isInjected = declaration
    .getConstructors()[0]
    ?.getParameters()
    .some((one) => decoratorsOf(rewriter, one).size > 0);
  if (isInjected)
    convertConstructor(rewriter, declaration, (_, found) => readParameter(rewriter, found), { byType: false });
  if (decorators.size === 0) return;
  const plan = planOf(rewriter, declaration);
  if (!plan) {
    for (const [name, decorator] of decorators) rewriter.leave(decorator, `@${name}`, adviceFor(rewriter, decorator));
    return;
  }
  for (const [name, decorator] of decorators) {
    rewriter.remove(decorator);
    rewriter.done(`@${name}`, nameOf(decorator), decorator);
  }
  const kept = plan.modifiers.some((one) => one.includes('singleton'));
  if (kept && !plan.modifiers.some((one) => one.includes('scope|')))
    rewriter.check(declaration, 'singleton()', KEPT_PER_SCOPE);
  const piped = plan.modifiers.length > 0 ? `.pipe(${plan.modifiers.join(', ')})` : '';
  const bound = plan.key === undefined ? '' : `.to(${plan.key})`;
  const indent = rewriter.indentAt(declaration.getStart());
  const exported = Node.isSourceFile(declaration.getParent()) && declaration.isExported() ? 'export ' : '';
  rewriter.insert(
    declaration.getEnd(),
    `\n${indent}${exported}const ${plan.name} = ${rewriter.use('Registration')}.fromClass(${declaration.getName()})${piped}${bound}${rewriter.semicolon}`,
  );
}

function readParameter(rewriter: Rewriter, found: ReadonlyMap<string, Decorator>): Asked {
  const [[name, decorator] = ['', undefined]] = found;
  const [token, ...more] = decorator?.getArguments() ?? [];
  if (name !== 'inject' || !token || more.length > 0 || found.size > 1)
    return { left: `@${name}`, advice: ADVICE[name] ?? 'see the table of constructs' };
  const key = keyOf(rewriter, token);
  return key === undefined ? { left: '@inject of more than a key', advice: ADVICE['by'] ?? '' } : { dependency: key };
}

function keyOf(rewriter: Rewriter, token: Node): string | undefined {
  if (Node.isCallExpression(token)) {
    const [key, ...more] = token.getArguments();
    const name = rewriter.origin(token.getExpression());
    return (name === 'by.key' || name === 'byKey') && key && more.length === 0 ? rewriter.text(key) : undefined;
  }
  if (Node.isArrowFunction(token)) {
    const [scope, ...others] = token.getParameters();
    const body = token.getBody();
    if (!scope || others.length > 0 || !Node.isCallExpression(body)) return undefined;
    const [key, ...more] = body.getArguments();
    return body.getExpression().getText() === `${scope.getName()}.resolve` && key && more.length === 0
      ? rewriter.text(key)
      : undefined;
  }
  const isKey = Node.isStringLiteral(token) || Node.isNoSubstitutionTemplateLiteral(token) || isKeyName(token);
  return isKey ? rewriter.text(token) : undefined;
}

/** A name that holds a string, a symbol, a class or a token; not a function, which `@inject` also takes. */
function isKeyName(node: Node): boolean {
  const symbol = Node.isIdentifier(node)
    ? node.getSymbol()
    : Node.isPropertyAccessExpression(node)
      ? node.getNameNode().getSymbol()
      : undefined;
  return (
    symbol !== undefined &&
    resolved(symbol)
      .getDeclarations()
      .some((one) => {
        if (Node.isClassDeclaration(one) || Node.isEnumMember(one)) return true;
        const value =
          Node.isVariableDeclaration(one) || Node.isPropertyAssignment(one) ? one.getInitializer() : undefined;
        const plain = Node.isAsExpression(value) ? value.getExpression() : value;
        return (
          Node.isStringLiteral(plain) ||
          (Node.isCallExpression(plain) && /^Symbol(?:\.for)?$/.test(plain.getExpression().getText())) ||
          (Node.isNewExpression(plain) && plain.getExpression().getText() === 'SingleToken')
        );
      })
  );
}
