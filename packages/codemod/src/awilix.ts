import {
  type CallExpression,
  type ClassDeclaration,
  type ClassExpression,
  Node,
  type ParameterDeclaration,
  type PropertyAccessExpression,
  type Symbol as TsSymbol,
} from 'ts-morph';
import {
  addRegistration,
  convertGlobal,
  createRequestScope,
  newContainer,
  optional,
  registration,
  scoped,
  SCOPED,
  type Service,
  singleton,
} from './core/ambit.js';
import { chainOf, type Link, replaceMethod } from './core/calls.js';
import { type Left, type Library, type Program, SEE_TABLE } from './core/model.js';
import { resolved, settingsIn, symbolOf } from './core/names.js';
import type { Rewriter } from './core/rewriter.js';

/** For a resolver that was left. */
const RESOLVER =
  'Registration.fromClass(...), fromFactory(...) or fromValue(...), completed with .to(key) where the key is known';

/** The replacement of an export that was left. */
const ADVICE: Readonly<Record<string, string>> = {
  asClass: RESOLVER,
  asFunction: RESOLVER,
  asValue: 'scope.register(key, () => value) on a scope; Registration.fromValue(value).to(key) in the application',
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

/** The replacement of a method of the container that was left. */
const METHODS: Readonly<Record<string, string>> = {
  build: 'container.resolve(TheClass): a class without a registration',
  loadModules: 'import the modules and register what they export',
  inspect: 'graph(container) of @ambit/container/tools',
  getRegistration: 'explain(container, key) of @ambit/container/tools',
};

/** In awilix the result was `any`. */
const TYPED = 'the type is that of awilix: better declare the key in ServiceMap, or name its type: resolve<Users>(key)';

/** The type argument of `resolve` for what awilix knew of the key: a member of the cradle's type, or anything. */
function typeOf(rewriter: Rewriter, container: Node, key: Node | undefined): string {
  if (!rewriter.style.isTypeScript) return '';
  const declared = symbolOf(container)
    ?.getDeclarations()
    .find((one) => Node.isVariableDeclaration(one) || Node.isParameterDeclaration(one));
  const type = declared?.getTypeNode();
  const made = declared?.getInitializer();
  const [cradle] = Node.isTypeReference(type)
    ? type.getTypeArguments()
    : Node.isCallExpression(made) && rewriter.names(made.getExpression(), 'createContainer')
      ? made.getTypeArguments()
      : [];
  return cradle && Node.isStringLiteral(key) ? `<${cradle.getText()}[${key.getText()}]>` : '<any>';
}

/** The replacement of a property of the container. */
const PROPERTIES: Readonly<Record<string, string>> = {
  registrations: 'container.has(key), or graph(container) of @ambit/container/tools',
  cache: 'graph(container) of @ambit/container/tools',
  options: 'keep the options in a value of your own',
};

/** Modules that build on the library, and what takes their place. */
const COMPANIONS: Readonly<Record<string, string>> = {
  'awilix-express': 'containerMiddleware of @ambit/express, and req.container.resolve(key) in a route of Express',
  'awilix-koa': "createScope({ tags: ['request'] }) in a middleware, and dispose() after next()",
  'awilix-router-core': 'routes stay those of the host',
  'awilix-manager': '.pipe(onStart(fn), onDispose(fn)) and container.start()',
};

/** Lifetime, injection mode and disposer of a resolver. */
interface Plan {
  lifetime: string;
  mode: Mode | undefined;
  disposer: Node | undefined;
}

/** Reads the options of `asClass(Users, { lifetime })`; returns what Ambit has no equal for. */
function readOptions(plan: Plan, options: Node | undefined): Left | undefined {
  if (!options) return undefined;
  const left = { construct: 'options of a resolver', advice: 'modifiers in .pipe(...)' };
  if (!Node.isObjectLiteralExpression(options)) return left;
  for (const property of options.getProperties()) {
    const value = Node.isPropertyAssignment(property) ? property.getInitializer() : undefined;
    if (!value || !Node.isPropertyAssignment(property)) return left;
    const name = property.getName();
    if (name === 'lifetime') plan.lifetime = lastName(value);
    else if (name === 'injectionMode') plan.mode = lastName(value) as Mode;
    else if (name === 'dispose') plan.disposer = value;
    else return left;
  }
  return undefined;
}

/** Reads `.scoped()`; returns it if Ambit has no equal for it. */
function readLink(plan: Plan, { name, args }: Link): Left | undefined {
  const [argument] = args;
  if (name === 'singleton' || name === 'scoped' || name === 'transient') plan.lifetime = name.toUpperCase();
  else if (name === 'classic' || name === 'proxy') plan.mode = name.toUpperCase() as Mode;
  else if (name === 'setLifetime' && argument) plan.lifetime = lastName(argument);
  else if (name === 'setInjectionMode' && argument) plan.mode = lastName(argument) as Mode;
  else if (name === 'disposer' && argument) plan.disposer = argument;
  else
    return {
      construct: `.${name}`,
      advice: name === 'inject' ? 'a key of its own for each value, or a factory' : SEE_TABLE,
    };
  return undefined;
}

/** `SCOPED` of `Lifetime.SCOPED` or `'SCOPED'`. */
const lastName = (node: Node): string =>
  Node.isPropertyAccessExpression(node) ? node.getName() : node.getText().replaceAll(/['"]/g, '');

/** A dependency by its key. */
interface Need {
  readonly key: string;
  readonly isOptional: boolean;
}

/** The class or function behind a name, or the one that stands there. */
function declarationOf(node: Node): Node | undefined {
  if (isMade(node)) return node;
  const symbol = symbolOf(node);
  return symbol && valueBehind(symbol, 0);
}

function valueBehind(symbol: TsSymbol, depth: number): Node | undefined {
  if (depth > 5) return undefined;
  for (const declaration of resolved(symbol).getDeclarations()) {
    if (isMade(declaration)) return declaration;
    const value = Node.isVariableDeclaration(declaration)
      ? declaration.getInitializer()
      : Node.isExportAssignment(declaration)
        ? declaration.getExpression()
        : Node.isBinaryExpression(declaration)
          ? declaration.getRight()
          : undefined;
    if (!value) continue;
    if (isMade(value)) return value;
    const next = Node.isIdentifier(value) ? value.getSymbol() : undefined;
    const found = next && valueBehind(next, depth + 1);
    if (found) return found;
  }
  return undefined;
}

const isMade = (node: Node): boolean =>
  Node.isClassDeclaration(node) ||
  Node.isClassExpression(node) ||
  Node.isFunctionDeclaration(node) ||
  Node.isFunctionExpression(node) ||
  Node.isArrowFunction(node);

/** The parameters of a class's constructor or of a function; undefined where they are not in the program. */
function parametersOf(declaration: Node): ParameterDeclaration[] | undefined {
  if (Node.isClassDeclaration(declaration) || Node.isClassExpression(declaration)) return ofClass(declaration);
  if (
    Node.isFunctionDeclaration(declaration) ||
    Node.isFunctionExpression(declaration) ||
    Node.isArrowFunction(declaration)
  )
    return declaration.getParameters();
  return undefined;
}

function ofClass(declaration: ClassDeclaration | ClassExpression): ParameterDeclaration[] | undefined {
  const own = declaration.getConstructors().find((one) => one.isImplementation());
  if (own) return own.getParameters();
  const parent = declaration.getExtends()?.getExpression();
  if (!parent) return [];
  const inherited = declarationOf(parent);
  return inherited && inherited !== declaration ? parametersOf(inherited) : undefined;
}

/** The keys that the parameters ask for; undefined where they cannot be read. */
function needsOf(parameters: readonly ParameterDeclaration[], mode: Mode): Need[] | undefined {
  if (mode === 'PROXY') return parameters[0] ? ofCradle(parameters[0]) : [];
  const needs = parameters.map((parameter) => {
    const name = parameter.getNameNode();
    if (!Node.isIdentifier(name) || parameter.isRestParameter()) return undefined;
    return { key: name.getText(), isOptional: parameter.hasInitializer() };
  });
  return needs.every((one) => one !== undefined) ? needs : undefined;
}

function ofCradle(parameter: ParameterDeclaration): Need[] | undefined {
  const name = parameter.getNameNode();
  if (Node.isObjectBindingPattern(name)) return ofPattern(name);
  if (!Node.isIdentifier(name)) return undefined;
  return ofUses(parameter, name) ?? ofType(parameter);
}

function ofPattern(pattern: Node): Need[] | undefined {
  if (!Node.isObjectBindingPattern(pattern)) return undefined;
  const needs: Need[] = [];
  for (const element of pattern.getElements()) {
    const property = element.getPropertyNameNode();
    if (element.getDotDotDotToken() || (property && !Node.isIdentifier(property))) return undefined;
    needs.push({ key: property?.getText() ?? element.getName(), isOptional: false });
  }
  return needs;
}

/** The properties that the body reads of the cradle; undefined where it passes the cradle on. */
function ofUses(parameter: ParameterDeclaration, name: Node): Need[] | undefined {
  // `private deps` is read in other methods.
  if (parameter.isParameterProperty()) return undefined;
  const keys = new Set<string>();
  const symbol = name.getSymbol();
  for (const node of parameter.getParent().getDescendants()) {
    if (!Node.isIdentifier(node) || node === name || node.getText() !== name.getText() || node.getSymbol() !== symbol)
      continue;
    const parent = node.getParent();
    if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === node) keys.add(parent.getName());
    else if (Node.isVariableDeclaration(parent) && parent.getInitializer() === node) {
      const needs = ofPattern(parent.getNameNode());
      if (!needs) return undefined;
      for (const { key } of needs) keys.add(key);
    } else return undefined;
  }
  return Array.from(keys, (key) => ({ key, isOptional: false }));
}

/** The members of the parameter's type. */
function ofType(parameter: ParameterDeclaration): Need[] | undefined {
  const type = parameter.getTypeNode();
  const symbol = Node.isTypeReference(type) ? type.getTypeName().getSymbol() : undefined;
  const [declaration] = symbol ? resolved(symbol).getDeclarations() : [];
  const literal = Node.isTypeAliasDeclaration(declaration) ? declaration.getTypeNode() : (declaration ?? type);
  if (Node.isInterfaceDeclaration(literal) && literal.getExtends().length > 0) return undefined;
  if (!Node.isInterfaceDeclaration(literal) && !Node.isTypeLiteral(literal)) return undefined;
  const members = literal.getMembers();
  if (!members.every((one) => Node.isPropertySignature(one))) return undefined;
  return members.map((one) => ({ key: one.getName(), isOptional: one.hasQuestionToken() }));
}

/** How `asClass` or `asFunction` makes the service, with the keys that its parameters ask for. */
function sourceOf(rewriter: Rewriter, name: string, given: Node, mode: Mode | undefined): string | Left {
  if (!mode) return { construct: name, advice: 'containers differ in injectionMode: write the list of keys' };
  const target = unbound(given);
  const declaration = declarationOf(target);
  const parameters = declaration && parametersOf(declaration);
  if (!parameters)
    return {
      construct: `${name} of what is not in the program`,
      advice: 'write the list of keys: Registration.fromClass(TheClass, [keys])',
    };
  const needs = needsOf(parameters, mode);
  if (!needs || needs.some(({ key }) => !/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key)))
    return {
      construct: `${name} whose dependencies are not listed`,
      advice: 'name the dependencies in the parameter: ({ users, mailer }), or write the list of keys',
    };
  const isClass = name === 'asClass';
  const text = rewriter.text(target);
  if (parameters.length === 0) return isClass ? `fromClass(${text})` : `fromFactory(${text})`;
  const keys = `[${needs.map((need) => keyOf(rewriter, need)).join(', ')}]`;
  const isInline = target === declaration;
  if (mode === 'PROXY') {
    const { names, object } = bound(needs, text);
    const type = rewriter.style.isTypeScript
      ? ` as ${cradleType(target, isInline, isClass, parameters[0]?.getTypeNode())}`
      : '';
    const called = isInline ? `(${text})` : text;
    return `fromFactory((${names}) => ${isClass ? 'new ' : ''}${called}(${object}${type}), ${keys})`;
  }
  if (isClass) return `fromClass(${text}, ${keys})`;
  const isTyped = rewriter.style.isTypeScript && (!isInline || parameters.some((one) => one.getTypeNode()));
  if (!isTyped) return `fromFactory(${text}, ${keys})`;
  const types = isInline
    ? `[${parameters.map((one) => one.getTypeNode()?.getText() ?? 'unknown').join(', ')}]`
    : `Parameters<typeof ${text}>`;
  return `fromFactory((...needs) => ${isInline ? `(${text})` : text}(...(needs as ${types})), ${keys})`;
}

const keyOf = (rewriter: Rewriter, { key, isOptional }: Need): string =>
  isOptional ? optional(rewriter, rewriter.style.string(key)) : rewriter.style.string(key);

/** The parameters of the factory, and the object that it makes of them. A parameter must not hide the target. */
function bound(needs: readonly Need[], target: string): { names: string; object: string } {
  const [root] = target.split(/\W/);
  const local = ({ key }: Need) => (key === root || RESERVED.has(key) ? `${key}Dependency` : key);
  const pairs = needs.map((need) => (local(need) === need.key ? need.key : `${need.key}: ${local(need)}`));
  return { names: needs.map(local).join(', '), object: pairs.length > 0 ? `{ ${pairs.join(', ')} }` : '{}' };
}

const RESERVED = new Set([
  'default',
  'class',
  'function',
  'new',
  'delete',
  'import',
  'export',
  'package',
  'static',
  'switch',
  'this',
  'typeof',
  'var',
  'void',
  'with',
]);

function cradleType(target: Node, isInline: boolean, isClass: boolean, type: Node | undefined): string {
  if (isInline) return type?.getText() ?? 'never';
  return `${isClass ? 'ConstructorParameters' : 'Parameters'}<typeof ${target.getText()}>[0]`;
}

/** `Users` of `Users.bind(Users)`, which hides the parameters of a class from awilix. */
function unbound(node: Node): Node {
  const called = Node.isCallExpression(node) ? node.getExpression() : undefined;
  if (!Node.isCallExpression(node) || !Node.isPropertyAccessExpression(called) || called.getName() !== 'bind')
    return node;
  const [self, ...more] = node.getArguments();
  return more.length === 0 && self?.getText() === called.getExpression().getText() ? called.getExpression() : node;
}

/** `asClass(Users).scoped()` as a registration without its key, or why it cannot be said. */
function serviceOf(rewriter: Rewriter, resolver: Node | undefined, mode: Mode | undefined): Service | Left {
  const chain = chainOf(resolver, (call) => rewriter.origin(call.getExpression()) !== undefined);
  const name = chain && rewriter.origin(chain.base.getExpression());
  if (!chain || name === undefined)
    return { construct: 'register of something else than as...()', advice: 'Registration.from...(...).to(key)' };
  return ofBase(rewriter, chain.base, name, chain.links, mode);
}

function ofBase(
  rewriter: Rewriter,
  call: CallExpression,
  name: string,
  links: readonly Link[],
  mode: Mode | undefined,
): Service | Left {
  const [target, options] = call.getArguments();
  if (!target) return { construct: name, advice: 'Registration.from...(...).to(key)' };
  if (name === 'asValue') return { source: `fromValue(${rewriter.text(target)})`, modifiers: [] };
  if (name === 'aliasTo') return { source: `alias(${rewriter.text(target)})`, modifiers: [] };
  const plan: Plan = { lifetime: 'TRANSIENT', mode, disposer: undefined };
  const odd = readOptions(plan, options) ?? links.map((link) => readLink(plan, link)).find((one) => one !== undefined);
  if (odd) return odd;
  const made = name === 'asClass' || name === 'asFunction' ? sourceOf(rewriter, name, target, plan.mode) : undefined;
  if (made === undefined || typeof made !== 'string')
    return made ?? { construct: name, advice: 'Registration.from...(...).to(key)' };
  const modifiers =
    plan.lifetime === 'SINGLETON' ? [singleton(rewriter)] : plan.lifetime === 'SCOPED' ? scoped(rewriter) : [];
  if (plan.disposer && modifiers.length === 0)
    return {
      construct: 'disposer of a transient',
      advice: '.pipe(singleton(), onDispose(fn)): the container disposes what it keeps',
    };
  if (plan.disposer) modifiers.push(`${rewriter.use('onDispose')}(${rewriter.text(plan.disposer)})`);
  return { source: made, modifiers };
}

/** `container.register(...)` becomes `addRegistration(...)`; resolvers without an equal stay in a `register`. */
function convertRegister(
  rewriter: Rewriter,
  call: CallExpression,
  called: PropertyAccessExpression,
  mode: Mode | undefined,
): void {
  const [first, resolver] = call.getArguments();
  const entries = Node.isObjectLiteralExpression(first)
    ? first.getProperties().map((node) => ({
        node: node as Node,
        key: Node.isPropertyAssignment(node) ? keyText(rewriter, node.getNameNode()) : undefined,
        resolver: Node.isPropertyAssignment(node) ? node.getInitializer() : undefined,
      }))
    : first && resolver
      ? [{ node: call as Node, key: rewriter.text(first), resolver }]
      : [];
  const lines: string[] = [];
  const left: Node[] = [];
  for (const { node, key, resolver: made } of entries) {
    const service = serviceOf(rewriter, made, mode);
    if (key === undefined || 'construct' in service) {
      const { construct, advice } =
        'construct' in service ? service : { construct: 'spread in register', advice: RESOLVER };
      rewriter.leave(node, construct, advice);
      left.push(node);
      continue;
    }
    lines.push([...commentsBefore(node), registration(rewriter, service, key)].join('\n'));
    rewriter.done(`register ${baseOf(made)}`, made);
    if (service.modifiers[1]?.startsWith(rewriter.use('scope'))) rewriter.check(node, 'scoped()', SCOPED);
  }
  if (entries.length === 0) rewriter.leave(call, 'container.register', RESOLVER);
  if (lines.length === 0) return;
  const indent = rewriter.style.indentAt(called.getNameNode().getStart());
  const rest = left.length > 0 ? `.register({ ${left.map((one) => one.getText()).join(', ')} })` : '';
  replaceMethod(rewriter, call, called, `${addRegistration(lines, indent)}${rest}`);
}

/** The comments above an entry of an object. */
const commentsBefore = (node: Node): string[] =>
  Node.isCallExpression(node) ? [] : node.getLeadingCommentRanges().map((one) => one.getText());

/** `asClass` of `asClass(Users).scoped()`. */
const baseOf = (node: Node | undefined): string =>
  /as(?:Class|Function|Value)|aliasTo/.exec(node?.getText() ?? '')?.[0] ?? '';

function keyText(rewriter: Rewriter, name: Node): string {
  if (Node.isComputedPropertyName(name)) return rewriter.text(name.getExpression());
  return Node.isStringLiteral(name) ? rewriter.text(name) : rewriter.style.string(name.getText());
}

/** Converts `createContainer` and calls of a method of the container. */
function convertCall(rewriter: Rewriter, call: CallExpression, mode: Mode | undefined): void {
  const called = call.getExpression();
  const args = call.getArguments();
  if (rewriter.names(called, 'createContainer')) {
    if (args.length > 1 || (args[0] && !Node.isObjectLiteralExpression(args[0]))) return;
    rewriter.replace(call, newContainer(rewriter));
    rewriter.done('createContainer', called, ...args);
    return;
  }
  if (!Node.isPropertyAccessExpression(called) || !rewriter.containers.has(called.getExpression())) return;
  const method = called.getName();
  switch (method) {
    case 'register':
      convertRegister(rewriter, call, called, mode);
      return;
    case 'createScope':
      replaceMethod(rewriter, call, called, createRequestScope(rewriter));
      rewriter.done('container.createScope');
      return;
    case 'hasRegistration':
      rewriter.replace(called.getNameNode(), 'has');
      rewriter.done('container.hasRegistration');
      return;
    case 'dispose':
      if (
        call
          .getAncestors()
          .some((one) => Node.isCallExpression(one) && /^(?:after|before)Each$/.test(one.getExpression().getText()))
      )
        rewriter.leave(
          call,
          'container.dispose between tests',
          'make the container in a function, and a new one for each test: a disposed one stays disposed',
        );
      else rewriter.done('container.dispose');
      return;
    case 'resolve':
      if (args.length <= 1) {
        rewriter.done(`container.${method}`);
        if (method === 'resolve' && rewriter.style.isTypeScript && call.getTypeArguments().length === 0) {
          rewriter.insert(called.getEnd(), typeOf(rewriter, called.getExpression(), args[0]));
          rewriter.check(call, 'resolve without a type', TYPED);
        }
      } else
        rewriter.leave(
          call,
          'container.resolve with options',
          "optional('key') in a list of keys, or container.has(key) first",
        );
      return;
    default:
      rewriter.leave(call, `container.${method}`, METHODS[method] ?? SEE_TABLE);
  }
}

/** `container.cradle.users` becomes `container.resolve('users')`. */
function convertCradle(rewriter: Rewriter, node: PropertyAccessExpression): void {
  if (!rewriter.containers.has(node.getExpression())) return;
  const property = PROPERTIES[node.getName()];
  if (property !== undefined) rewriter.leave(node, `container.${node.getName()}`, property);
  if (node.getName() !== 'cradle') return;
  const parent = node.getParent();
  const container = () => rewriter.text(node.getExpression());
  if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === node) {
    const type = typeOf(rewriter, node.getExpression(), undefined);
    rewriter.replace(parent, `${container()}.resolve${type}(${rewriter.style.string(parent.getName())})`);
    typed(rewriter, node);
    return;
  }
  const pattern = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
  const elements = Node.isObjectBindingPattern(pattern) ? pattern.getElements() : [];
  if (
    !parent ||
    elements.length === 0 ||
    elements.some((one) => one.getDotDotDotToken() !== undefined || one.hasInitializer())
  ) {
    rewriter.leave(node, 'cradle', "container.resolve('key') for each service");
    return;
  }
  const all = elements.map((one) => {
    const key = one.getPropertyNameNode()?.getText() ?? one.getName();
    const type = typeOf(rewriter, node.getExpression(), undefined);
    return `${one.getNameNode().getText()} = ${container()}.resolve${type}(${rewriter.style.string(key)})`;
  });
  rewriter.replace(parent, all.join(', '));
  typed(rewriter, node);
}

function typed(rewriter: Rewriter, node: Node): void {
  rewriter.done('cradle');
  if (rewriter.style.isTypeScript) rewriter.check(node, 'cradle', TYPED);
}

/** How awilix passes dependencies: by the names of the parameters, or as one object. */
type Mode = 'CLASSIC' | 'PROXY';

/** The injection mode of the program's containers; undefined where they differ. */
function modeOf(program: Program, modules: readonly string[]): Mode | undefined {
  const [first = 'PROXY', ...others] = settingsIn<Mode>(
    program,
    modules,
    /createContainer|diContainerClassic/,
    (node, origins) => {
      if (Node.isIdentifier(node)) return origins.of(node) === 'diContainerClassic' ? 'CLASSIC' : undefined;
      if (!Node.isCallExpression(node) || origins.of(node.getExpression()) !== 'createContainer') return undefined;
      return /injectionMode['"]?:\s*(?:\w+\.)*['"]?CLASSIC/.test(node.getText()) ? 'CLASSIC' : 'PROXY';
    },
  );
  return others.length > 0 ? undefined : first;
}

const MODULES = ['awilix', '@fastify/awilix', 'fastify-awilix'];

/** Converts programs of awilix. */
export const awilix: Library = {
  name: 'awilix',
  modules: MODULES,
  companions: COMPANIONS,
  advice: ADVICE,
  page: 'awilix',
  containers: {
    values: ['diContainer', 'diContainerClassic'],
    creators: ['createContainer'],
    types: ['AwilixContainer'],
    methods: ['createScope', 'register', 'loadModules'],
    members: ['cradle', 'hasRegistration', 'loadModules', 'getRegistration'],
  },
  convert(rewriter, program) {
    const mode = modeOf(program, MODULES);
    for (const node of rewriter.file.getDescendants().toReversed()) {
      if (Node.isCallExpression(node)) convertCall(rewriter, node, mode);
      else if (Node.isTypeReference(node) && rewriter.names(node.getTypeName(), 'AwilixContainer')) {
        rewriter.replace(node, rewriter.useType('Container'));
        rewriter.done('type of the container', node.getTypeName());
      } else if (Node.isPropertyAccessExpression(node)) convertCradle(rewriter, node);
      else if (Node.isIdentifier(node)) convertGlobal(rewriter, node, program, 'diContainer', 'diContainerClassic');
    }
  },
};
