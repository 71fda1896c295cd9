import { Node } from 'ts-morph';
import { optional } from '../core/ambit/keys.js';
import type { Left } from '../core/model.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import type { Mode } from './mode.js';
import { declarationOf, needsOf, parametersOf, type Need } from './needs.js';

/** How `asClass` or `asFunction` makes the service, with the keys that its parameters ask for. */
export function sourceOf(rewriter: Rewriter, name: string, given: Node, mode: Mode | undefined): string | Left {
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
