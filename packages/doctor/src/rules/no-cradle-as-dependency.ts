import type { CallExpression, Class, Node } from 'oxc-parser';
import type { Project } from '../program/project.js';
import type { SourceFile } from '../program/source-file.js';
import {
  chainOf,
  type FunctionNode,
  is,
  isClass,
  isFunction,
  methodCall,
  propertyName,
  typeNameOf,
  unwrapped,
  within,
} from '../program/syntax.js';
import type { Check } from './rule.js';

export const noCradleAsDependency: Check = {
  name: 'no-cradle-as-dependency',
  description: 'A class or function that awilix gives its cradle takes the cradle, not one dependency',
  fix: 'Take it out of the cradle (`constructor({ baseUrl })`), or register with `injectionMode: InjectionMode.CLASSIC`.',
  *find(file, project) {
    if (usesClassicMode(file)) return;
    for (const call of file.all('CallExpression')) {
      const name = registrationOf(file, call);
      if (name === undefined || isClassic(file, call)) continue;
      const target = registered(project, file, call.arguments[0]);
      const first = target?.parameters[0];
      if (!target || !first) continue;
      const reason = wholeUse(target.file, first, target.parameters.length, target.node);
      if (reason !== undefined)
        yield {
          node: call,
          problem: `${name}() passes the whole cradle as the first parameter of \`${target.name}\`, ${reason}: it gets an object of all services instead`,
        };
    }
  },
};

function registrationOf(file: SourceFile, { callee }: CallExpression): string | undefined {
  const { base, names: path } = chainOf(callee);
  const imported = file.variableOf(base)?.imported;
  const name = path[0] ?? imported?.name ?? '';
  return imported && path.length < 2 && /^awilix(?:\/|$)/.test(imported.from) && /^as(?:Class|Function)$/.test(name)
    ? name
    : undefined;
}

const names = (node: Node, name: string): boolean =>
  [...within(node)].some(
    (each) =>
      (is(each, 'MemberExpression') && propertyName(each) === name) || (is(each, 'Literal') && each.value === name),
  );

const usesClassicMode = (file: SourceFile): boolean =>
  file.all('CallExpression').some((call) => {
    const name = is(call.callee, 'Identifier') ? call.callee.name : methodCall(call)?.name;
    return name === 'createContainer' && call.arguments.some((each) => names(each, 'CLASSIC'));
  });

/** `asClass(Users, { injectionMode: InjectionMode.CLASSIC })`, `.classic()`, `.inject(() => ...)`. */
function isClassic(file: SourceFile, call: CallExpression): boolean {
  if (call.arguments.slice(1).some((each) => names(each, 'CLASSIC') || names(each, 'injector'))) return true;
  for (const ancestor of file.ancestorsOf(call)) {
    if (
      is(ancestor, 'MemberExpression') &&
      ['classic', 'inject', 'setInjectionMode'].includes(propertyName(ancestor) ?? '')
    )
      return true;
    if (!is(ancestor, 'MemberExpression', 'CallExpression')) return false;
  }
  return false;
}

interface Registered {
  readonly name: string;
  readonly file: SourceFile;
  readonly node: FunctionNode;
  readonly parameters: readonly Node[];
}

function registered(project: Project, file: SourceFile, argument: Node | undefined): Registered | undefined {
  if (!argument) return undefined;
  const value = unwrapped(argument);
  if (isFunction(value)) return { name: 'the function', file, node: value, parameters: value.params };
  const variable = file.variableOf(value);
  const found = variable && project.valueOf(file, variable);
  const node = isClass(found?.node) ? constructorOf(found.node) : found?.node;
  return variable && found && isFunction(node)
    ? { name: variable.name, file: found.file, node, parameters: node.params }
    : undefined;
}

function constructorOf(node: Class): FunctionNode | undefined {
  const member = node.body.body.find(
    (each) => is(each, 'MethodDefinition') && each.kind === 'constructor' && each.value.body,
  );
  return is(member, 'MethodDefinition') ? member.value : undefined;
}

const CRADLE =
  /^_?(?:cradle|container|deps|dependencies|opts|options|services?|injected|injections?|args|props|params|config|ctx|context)$/i;
const SCALARS = new Set([
  'TSStringKeyword',
  'TSNumberKeyword',
  'TSBooleanKeyword',
  'TSBigIntKeyword',
  'TSFunctionType',
  'TSArrayType',
]);

/** Why the parameter is not meant to be the cradle, or `undefined` where it may be. */
function wholeUse(file: SourceFile, parameter: Node, count: number, node: FunctionNode): string | undefined {
  const inner = is(parameter, 'TSParameterProperty') ? parameter.parameter : parameter;
  const pattern = is(inner, 'AssignmentPattern') ? inner.left : inner;
  if (!is(pattern, 'Identifier')) return undefined;
  const annotation = 'typeAnnotation' in pattern ? pattern.typeAnnotation : undefined;
  if (annotation && SCALARS.has(annotation.typeAnnotation.type))
    return `which is \`${pattern.name}\`, a ${kindOf(annotation.typeAnnotation)}`;
  if (is(inner, 'AssignmentPattern') && is(inner.right, 'Literal'))
    return `which is \`${pattern.name}\`, a ${typeof inner.right.value}`;
  if (CRADLE.test(pattern.name) || /cradle|deps|dependencies/i.test(typeNameOf(annotation) ?? '')) return undefined;
  if (count > 1) return `which is \`${pattern.name}\`, and nothing for the ${count - 1} after it`;
  return isOnlyUsedWhole(file, pattern.name, node) && !annotation
    ? `which uses \`${pattern.name}\` as one value`
    : undefined;
}

const kindOf = ({ type }: Node): string =>
  type === 'TSFunctionType' ? 'function' : type === 'TSArrayType' ? 'list' : type.slice(2, -7).toLowerCase();

/** In a template or a sum, which make a text of it. */
function isOnlyUsedWhole(file: SourceFile, name: string, node: FunctionNode): boolean {
  if (!node.body) return false;
  const uses = [...within(node.body)].filter(
    (each) => is(each, 'Identifier') && each.name === name && isFunctionParameter(file, each, node),
  );
  return (
    uses.length > 0 &&
    uses.every((each) => is(file.parentOf(each), 'TemplateLiteral', 'BinaryExpression') || isStored(file, each, name))
  );
}

/** `this.baseUrl = baseUrl` */
const isStored = (file: SourceFile, use: Node, name: string): boolean => {
  const assignment = file.parentOf(use);
  return is(assignment, 'AssignmentExpression') && assignment.right === use && propertyName(assignment.left) === name;
};

const isFunctionParameter = (file: SourceFile, use: Node, node: FunctionNode): boolean => {
  const variable = file.variableOf(use);
  return variable?.kind === 'parameter' && variable.owner === node;
};
