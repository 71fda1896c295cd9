import { Node, type CallExpression } from 'ts-morph';
import { scoped, singleton, type Service } from '../core/registrations.js';
import type { Rewriter } from '../core/rewriter.js';
import { declarationOf, needsOf, parametersOf, type Mode, type Need } from './needs.js';

/** Why a resolver is left. */
export interface LeftResolver {
  readonly construct: string;
  readonly advice: string;
}

/** `asClass(Users).scoped()` as a registration without its key, or why it cannot be said. */
export function serviceOf(
  rewriter: Rewriter,
  resolver: Node | undefined,
  mode: Mode | undefined,
): Service | LeftResolver {
  const links: { name: string; args: readonly Node[] }[] = [];
  let at = resolver;
  while (Node.isCallExpression(at)) {
    const called: Node = at.getExpression();
    const name = rewriter.origin(called);
    if (name !== undefined) return ofBase(rewriter, at, name, links.toReversed(), mode);
    if (!Node.isPropertyAccessExpression(called)) break;
    links.push({ name: called.getName(), args: at.getArguments() });
    at = called.getExpression();
  }
  return { construct: 'register of something else than as...()', advice: 'Registration.from...(...).to(key)' };
}

/** Lifetime, injection mode and disposer of a resolver. */
interface Plan {
  lifetime: string;
  mode: Mode | undefined;
  disposer: Node | undefined;
}

function ofBase(
  rewriter: Rewriter,
  call: CallExpression,
  name: string,
  links: readonly { name: string; args: readonly Node[] }[],
  mode: Mode | undefined,
): Service | LeftResolver {
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

function readOptions(plan: Plan, options: Node | undefined): LeftResolver | undefined {
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

function readLink(plan: Plan, { name, args }: { name: string; args: readonly Node[] }): LeftResolver | undefined {
  const [argument] = args;
  if (name === 'singleton' || name === 'scoped' || name === 'transient') plan.lifetime = name.toUpperCase();
  else if (name === 'classic' || name === 'proxy') plan.mode = name.toUpperCase() as Mode;
  else if (name === 'setLifetime' && argument) plan.lifetime = lastName(argument);
  else if (name === 'setInjectionMode' && argument) plan.mode = lastName(argument) as Mode;
  else if (name === 'disposer' && argument) plan.disposer = argument;
  else
    return {
      construct: `.${name}`,
      advice: name === 'inject' ? 'a key of its own for each value, or a factory' : 'see the table of constructs',
    };
  return undefined;
}

/** `SCOPED` of `Lifetime.SCOPED` or `'SCOPED'`. */
const lastName = (node: Node): string =>
  Node.isPropertyAccessExpression(node) ? node.getName() : node.getText().replaceAll(/['"]/g, '');

function sourceOf(rewriter: Rewriter, name: string, given: Node, mode: Mode | undefined): string | LeftResolver {
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
    const type = rewriter.isTypeScript
      ? ` as ${cradleType(target, isInline, isClass, parameters[0]?.getTypeNode())}`
      : '';
    const called = isInline ? `(${text})` : text;
    return `fromFactory((${names}) => ${isClass ? 'new ' : ''}${called}(${object}${type}), ${keys})`;
  }
  if (isClass) return `fromClass(${text}, ${keys})`;
  const isTyped = rewriter.isTypeScript && (!isInline || parameters.some((one) => one.getTypeNode()));
  if (!isTyped) return `fromFactory(${text}, ${keys})`;
  const types = isInline
    ? `[${parameters.map((one) => one.getTypeNode()?.getText() ?? 'unknown').join(', ')}]`
    : `Parameters<typeof ${text}>`;
  return `fromFactory((...needs) => ${isInline ? `(${text})` : text}(...(needs as ${types})), ${keys})`;
}

const keyOf = (rewriter: Rewriter, { key, isOptional }: Need): string =>
  isOptional ? `${rewriter.use('optional')}(${rewriter.string(key)})` : rewriter.string(key);

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
