import type { CallExpression, Node } from 'oxc-parser';
import { fieldOf } from './fields.js';
import type { Project } from './project.js';
import { isVariable, nameOf, type Reference, type SourceFile } from './source-file.js';
import {
  awaited,
  type FunctionNode,
  is,
  isClass,
  isFunction,
  methodCall,
  propertyName,
  typeNameOf,
  within,
} from './syntax.js';

/** A function of the program, and the file that has it. */
export interface Helper {
  readonly name: string;
  readonly file: SourceFile;
  readonly node: FunctionNode;
}

/** The function that is called by its name, or the method of an object of a module, of the same object or of an injected one. */
export function helperCalledBy(project: Project, file: SourceFile, call: CallExpression): Helper | undefined {
  const callee = file.referenceOf(call.callee);
  if (!callee) return undefined;
  const name = callee.path.at(-1);
  if (isVariable(callee.base)) {
    const found =
      name === undefined
        ? project.valueOf(file, callee.base)
        : callee.path.length === 1
          ? project.memberOf(file, callee.base, name)
          : undefined;
    return found && isFunction(found.node) ? { name: nameOf(callee), file: found.file, node: found.node } : undefined;
  }
  if (name === undefined || !isClass(callee.base)) return undefined;
  const [field] = callee.path;
  const target =
    callee.path.length === 1
      ? { file, node: callee.base }
      : callee.path.length === 2 && field !== undefined
        ? project.classNamed(file, typeNameOf(fieldOf(callee.base, field)?.type) ?? '')
        : undefined;
  const member = target?.node.body.body.find((each) => propertyName(each) === name);
  const node = is(member, 'MethodDefinition', 'PropertyDefinition') ? member.value : undefined;
  return target && isFunction(node) ? { name: callee.path.join('.'), file: target.file, node } : undefined;
}

/** One name for the same pool in each file: the variable that is exported, or the type of the field that it was injected into. */
export function canonical(project: Project, file: SourceFile, { base, path }: Reference): unknown {
  const [name] = path;
  if (isVariable(base)) {
    const { imported, ...declared } = project.declarationOf(file, base).variable;
    if (declared.owner || path.length > 1) return undefined;
    // A package is the same one in each file.
    if (imported && !imported.from.startsWith('.')) return [imported.from, imported.name, ...path].join('#');
    if (name === undefined) return declared.node;
    const member = project.memberOf(file, base, name);
    return member && (member.variable?.node ?? member.node);
  }
  if (path.length !== 1 || name === undefined) return undefined;
  return typeNameOf(fieldOf(base, name)?.type) ?? base;
}

/** The whole chain `db.insert(...).values(...).returning()` that a call is part of. */
export function outermost(file: SourceFile, node: Node): Node {
  const parent = file.parentOf(node);
  if (is(parent, 'MemberExpression') && parent.object === node) return outermost(file, parent);
  if (is(parent, 'CallExpression') && parent.callee === node) return outermost(file, parent);
  if (is(parent, 'ChainExpression', 'TSNonNullExpression', 'TSAsExpression')) return outermost(file, parent);
  return node;
}

/** A query runs when it is awaited or returned; one that is only built may be part of another. */
export function isRun(file: SourceFile, query: Node): boolean {
  const parent = file.parentOf(query);
  if (is(parent, 'AwaitExpression')) return true;
  if (is(parent, 'ReturnStatement')) return file.functionOf(query)?.async === true;
  if (is(parent, 'ArrowFunctionExpression')) return parent.body === query && parent.async;
  if (!is(parent, 'ArrayExpression')) return false;
  const call = file.parentOf(parent);
  return is(call, 'CallExpression') && /^(?:all|batch)/.test(methodCall(call)?.name ?? '');
}

/** The object that a query goes through: `pool` of `pool.query(...)`, `this.pool` of `this.pool.query(...)`. */
export function receiverOf(file: SourceFile, query: Node): Reference | undefined {
  let receiver: Node | undefined = query;
  let reference: Reference | undefined;
  while (receiver && !(reference && reference.path.length === (isVariable(reference.base) ? 0 : 1))) {
    reference = file.referenceOf(receiver) ?? reference;
    receiver = is(receiver, 'MemberExpression')
      ? receiver.object
      : is(receiver, 'CallExpression')
        ? receiver.callee
        : is(receiver, 'TaggedTemplateExpression')
          ? receiver.tag
          : undefined;
  }
  return reference;
}

/** A query of a function, and the object that it goes through: a pool, or the parameter with a number. */
export interface Use {
  readonly pool: unknown;
  readonly parameter: number;
  readonly name: string;
  readonly file: SourceFile;
  readonly node: Node;
}

const uses = new WeakMap<FunctionNode, Use[]>();
export const NO_QUERY = /^(?:end|close|destroy|release|on|once|off|emit|\$disconnect)$/;

/** The queries of a function and of the functions that it calls, but for those on connections that they make themselves. */
export function usesOf(project: Project, { file, node }: Helper, depth = 0): readonly Use[] {
  const known = uses.get(node);
  if (known || depth > 3) return known ?? [];
  const list: Use[] = [];
  uses.set(node, list);
  for (const query of within(node)) {
    if (!is(query, 'CallExpression', 'TaggedTemplateExpression') || outermost(file, query) !== query) continue;
    if (!isRun(file, query) && !isReturnedBy(file, query, node)) continue;
    const through = receiverOf(file, query);
    if (through && !isCallee(file, query, through) && !NO_QUERY.test(lastName(query)))
      list.push({ ...passed(project, file, node, through), name: nameOf(through), file, node: query });
    const inner = is(query, 'CallExpression') ? helperCalledBy(project, file, query) : undefined;
    if (!inner || !is(query, 'CallExpression')) continue;
    for (const use of usesOf(project, inner, depth + 1)) {
      const given = use.parameter === -1 ? undefined : argumentOf(file, query, inner, use.parameter);
      if (use.parameter === -1) list.push(use);
      else if (given)
        list.push({ ...use, ...passed(project, given.file, node, given.reference), name: nameOf(given.reference) });
    }
  }
  return list;
}

/** The caller awaits what a function returns that is not `async`. */
const isReturnedBy = (file: SourceFile, query: Node, node: FunctionNode): boolean =>
  file.functionOf(query) === node && (node.body === query || is(file.parentOf(query), 'ReturnStatement'));

const lastName = (query: Node): string => (is(query, 'CallExpression') ? (methodCall(query)?.name ?? '') : '');

/** `record(...)` is a function, not something that queries go through. */
const isCallee = (file: SourceFile, query: Node, { base, path }: Reference): boolean =>
  is(query, 'CallExpression') && isVariable(base) && path.length === 0 && file.variableOf(query.callee) === base;

function passed(
  project: Project,
  file: SourceFile,
  owner: FunctionNode,
  reference: Reference,
): Pick<Use, 'pool' | 'parameter'> {
  const { base, path } = reference;
  const parameter =
    isVariable(base) && path.length === 0 && base.owner === owner && base.kind === 'parameter'
      ? owner.params.findIndex((each) => each === base.node)
      : -1;
  return { parameter, pool: parameter === -1 ? canonical(project, file, reference) : undefined };
}

/** The argument of a call, or the default of the parameter: `(user, tx = db) => ...`. */
export function argumentOf(
  file: SourceFile,
  call: CallExpression,
  { file: home, node }: Helper,
  at: number,
): { file: SourceFile; reference: Reference } | undefined {
  const argument = call.arguments[at];
  const parameter = node.params[at];
  const [from, value] = argument
    ? [file, argument]
    : [home, is(parameter, 'AssignmentPattern') ? parameter.right : undefined];
  const reference = value && from.referenceOf(awaited(value));
  return reference && { file: from, reference };
}
