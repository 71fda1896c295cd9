import type { Class, Node } from 'oxc-parser';
import { decoratorName } from './fields.js';
import type { Project, Use } from './project.js';
import type { SourceFile } from './source-file.js';
import { chainOf, type FunctionNode, is, methodCall, propertyName, within } from './syntax.js';

/** Decorators of classes that their framework instantiates once. */
const ONCE =
  /^(?:Injectable|Controller|Service|[sS]ingleton|Resolver|WebSocketGateway|JsonController|EventSubscriber)$/;
/** Functions that put an application together. */
const COMPOSES =
  /^(?:main|bootstrap|start\w*|run|setup\w*|init\w*|compose\w*|build(?:App|Server|Container|Services|Application)\w*|create(?:App|Server|Container|Services|Application)\w*|register(?:Services|Dependencies)\w*)$/i;

/** Why one object of a class serves many requests, or `undefined` where nothing says so. */
export function sharedBecause(project: Project, file: SourceFile, node: Class): string | undefined {
  for (const decorator of node.decorators ?? []) {
    const name = decoratorName(decorator) ?? '';
    if (ONCE.test(name) && !isPerRequest(decorator)) {
      const from = file.moduleVariable(name)?.imported?.from ?? '';
      if (!/inversify|tsyringe/.test(from) || /singleton/i.test(name))
        return `@${name}() makes one instance for all requests`;
    }
  }
  for (const use of project.usesOf(node)) {
    const reason = sharedByUse(use);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const isPerRequest = (decorator: Node): boolean =>
  [...within(decorator)].some(
    (each) =>
      (is(each, 'MemberExpression') && ['REQUEST', 'TRANSIENT'].includes(propertyName(each) ?? '')) ||
      (is(each, 'Property') && ['transient', 'durable'].includes(propertyName(each) ?? '')),
  );

function sharedByUse({ file, node }: Use): string | undefined {
  const where = `${file.path}:${file.positionOf(node).line}`;
  if (is(node, 'NewExpression')) {
    const owner = file.functionOf(node);
    if (!owner) return `${where} makes one instance for all requests`;
    const name = nameOfFunction(file, owner);
    if (name !== undefined && COMPOSES.test(name)) return `${name}() makes one instance for all requests (${where})`;
    return undefined;
  }
  if (!is(node, 'CallExpression')) return undefined;
  const method = methodCall(node)?.name;
  if (method === 'registerSingleton' || method === 'addSingleton') return `${where} registers it as a singleton`;
  // asClass(Users).singleton(), bind(Users).to(Users).inSingletonScope(), asClass(Users, { lifetime: Lifetime.SINGLETON })
  for (const ancestor of file.ancestorsOf(node)) {
    if (!is(ancestor, 'MemberExpression', 'CallExpression')) break;
    if (chainOf(ancestor).names.some((name) => name === 'singleton' || name === 'inSingletonScope'))
      return `${where} registers it as a singleton`;
  }
  if (
    node.arguments
      .slice(1)
      .some((each) => [...within(each)].some((one) => is(one, 'MemberExpression') && propertyName(one) === 'SINGLETON'))
  )
    return `${where} registers it as a singleton`;
  return undefined;
}

function nameOfFunction(file: SourceFile, node: FunctionNode): string | undefined {
  if (!is(node, 'ArrowFunctionExpression') && node.id) return node.id.name;
  const parent = file.parentOf(node);
  if (is(parent, 'VariableDeclarator') && is(parent.id, 'Identifier')) return parent.id.name;
  if (is(parent, 'MethodDefinition', 'Property', 'PropertyDefinition')) return propertyName(parent);
  return undefined;
}
