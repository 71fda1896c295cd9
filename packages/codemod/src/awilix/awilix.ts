import { Node, type CallExpression, type PropertyAccessExpression } from 'ts-morph';
import { convertGlobal } from '../core/global.js';
import type { Library } from '../core/library.js';
import type { Program } from '../core/model.js';
import { Origins } from '../core/origin.js';
import { registration } from '../core/registrations.js';
import type { Rewriter } from '../core/rewriter.js';
import type { Mode } from './needs.js';
import { serviceOf } from './resolver.js';

const MODULES = ['awilix', '@fastify/awilix', 'fastify-awilix'];
const RESOLVER =
  'Registration.fromClass(...), fromFactory(...) or fromValue(...), completed with .to(key) where the key is known';

const ADVICE: Readonly<Record<string, string>> = {
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

const METHODS: Readonly<Record<string, string>> = {
  build: 'container.resolve(TheClass): a class without a registration',
  loadModules: 'import the modules and register what they export',
  inspect: 'graph(container) of @ambit/container/tools',
  getRegistration: 'explain(container, key) of @ambit/container/tools',
};

/** In awilix the result was `any`. */
const TYPED = 'the result is unknown: declare the type of the key in ServiceMap, or name it: resolve<Users>(key)';

const PROPERTIES: Readonly<Record<string, string>> = {
  registrations: 'container.has(key), or graph(container) of @ambit/container/tools',
  cache: 'graph(container) of @ambit/container/tools',
  options: 'keep the options in a value of your own',
};

/** Converts programs of awilix. */
export const awilix: Library = {
  name: 'awilix',
  modules: MODULES,
  companions: {
    'awilix-express': 'containerMiddleware of @ambit/express, and req.container.resolve(key) in a route of Express',
    'awilix-koa': "createScope({ tags: ['request'] }) in a middleware, and dispose() after next()",
    'awilix-router-core': 'routes stay those of the host',
    'awilix-manager': '.pipe(onStart(fn), onDispose(fn)) and container.start()',
  },
  advice: ADVICE,
  containers: {
    values: ['diContainer', 'diContainerClassic'],
    creators: ['createContainer'],
    types: ['AwilixContainer'],
    methods: ['createScope', 'register', 'loadModules'],
  },
  convert(rewriter, program) {
    const mode = modeOf(program);
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

/** The injection mode of the program's containers; undefined where they differ. */
function modeOf(program: Program): Mode | undefined {
  const origins = new Origins(MODULES);
  const modes = new Set<Mode>();
  for (const file of program.files) {
    if (!/createContainer|diContainerClassic/.test(file.getFullText())) continue;
    for (const node of file.getDescendants()) {
      if (Node.isIdentifier(node) && origins.of(node) === 'diContainerClassic') modes.add('CLASSIC');
      if (!Node.isCallExpression(node) || origins.of(node.getExpression()) !== 'createContainer') continue;
      modes.add(/injectionMode['"]?:\s*(?:\w+\.)*['"]?CLASSIC/.test(node.getText()) ? 'CLASSIC' : 'PROXY');
    }
  }
  const [first, ...others] = modes;
  return others.length > 0 ? undefined : (first ?? 'PROXY');
}

function convertCall(rewriter: Rewriter, call: CallExpression, mode: Mode | undefined): void {
  const called = call.getExpression();
  const args = call.getArguments();
  if (rewriter.names(called, 'createContainer')) {
    if (args.length > 1 || (args[0] && !Node.isObjectLiteralExpression(args[0]))) return;
    rewriter.replace(call, `new ${rewriter.use('Container')}({ tags: [${rewriter.string('application')}] })`);
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
      rewriter.replaceRange(
        called.getNameNode().getStart(),
        call.getEnd(),
        `createScope({ tags: [${rewriter.string('request')}] })`,
      );
      rewriter.done('container.createScope');
      return;
    case 'hasRegistration':
      rewriter.replace(called.getNameNode(), 'has');
      rewriter.done('container.hasRegistration');
      return;
    case 'resolve':
    case 'dispose':
      if (args.length <= 1) {
        rewriter.done(`container.${method}`);
        if (method === 'resolve' && rewriter.isTypeScript && call.getTypeArguments().length === 0)
          rewriter.check(call, 'resolve without a type', TYPED);
      } else
        rewriter.leave(
          call,
          'container.resolve with options',
          "optional('key') in a list of keys, or container.has(key) first",
        );
      return;
    default:
      rewriter.leave(call, `container.${method}`, METHODS[method] ?? 'see the table of constructs');
  }
}

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
    lines.push(registration(rewriter, service, key));
    rewriter.done(`register ${baseOf(made)}`, made);
    if (service.modifiers.length > 1 && service.modifiers[1]?.includes('hasTag'))
      rewriter.check(
        node,
        'scoped()',
        "available in scopes with the tag 'request' only; resolving it in the application is an error",
      );
  }
  if (entries.length === 0) rewriter.leave(call, 'container.register', RESOLVER);
  if (lines.length === 0) return;
  const indent = rewriter.indentAt(called.getNameNode().getStart());
  const list =
    lines.length === 1 ? lines.join('') : `\n${lines.map((one) => `${indent}  ${one},\n`).join('')}${indent}`;
  const rest = left.length > 0 ? `.register({ ${left.map((one) => one.getText()).join(', ')} })` : '';
  rewriter.replaceRange(called.getNameNode().getStart(), call.getEnd(), `addRegistration(${list})${rest}`);
}

/** `asClass` of `asClass(Users).scoped()`. */
const baseOf = (node: Node | undefined): string =>
  /as(?:Class|Function|Value)|aliasTo/.exec(node?.getText() ?? '')?.[0] ?? '';

function keyText(rewriter: Rewriter, name: Node): string {
  if (Node.isComputedPropertyName(name)) return rewriter.text(name.getExpression());
  return Node.isStringLiteral(name) ? rewriter.text(name) : rewriter.string(name.getText());
}

/** `container.cradle.users` */
function convertCradle(rewriter: Rewriter, node: PropertyAccessExpression): void {
  if (!rewriter.containers.has(node.getExpression())) return;
  const property = PROPERTIES[node.getName()];
  if (property !== undefined) rewriter.leave(node, `container.${node.getName()}`, property);
  if (node.getName() !== 'cradle') return;
  const parent = node.getParent();
  const container = () => rewriter.text(node.getExpression());
  if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === node) {
    rewriter.replace(parent, `${container()}.resolve(${rewriter.string(parent.getName())})`);
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
    return `${one.getNameNode().getText()} = ${container()}.resolve(${rewriter.string(key)})`;
  });
  rewriter.replace(parent, all.join(', '));
  typed(rewriter, node);
}

function typed(rewriter: Rewriter, node: Node): void {
  rewriter.done('cradle');
  if (rewriter.isTypeScript) rewriter.check(node, 'cradle', TYPED);
}
