import type { AssignmentExpression, CallExpression, Node } from 'oxc-parser';
import { type Helper, helperCalledBy } from '../program/calls.js';
import { sharedBecause } from '../program/lifetimes.js';
import type { Project } from '../program/project.js';
import { hasRequests, requestDataIn } from '../program/requests.js';
import { isSame, isVariable, nameOf, type SourceFile } from '../program/source-file.js';
import { chainOf, endOf, is, isClass, methodCall, startOf, unwrapped, within } from '../program/syntax.js';
import type { Check, Finding } from './rule.js';

/** Names of data that belong to the caller. A form that sets a mode or a price for all is meant to. */
const CALLER =
  /user|session|auth|token|tenant|account|org|company|customer|member|owner|actor|author|locale|lang|role|permission|cookie|header|identity|principal|trace|correlation|e-?mail|phone|password|student|cart\b|\b(?:ip|get|otp)\b/i;
const FIX = ": another request reads this one's data";

export const noSharedRequestData: Check = {
  name: 'no-shared-request-data',
  description: 'Data of a request is not kept by what many requests share',
  fix: 'Pass it as an argument, keep it on the request, or in an object of the request, as a scope does.',
  *find(file, project) {
    if (!hasRequests(file)) return;
    for (const assignment of file.all('AssignmentExpression')) {
      if (!['=', '??=', '||='].includes(assignment.operator)) continue;
      const where = sharedTarget(project, file, assignment.left);
      const data = where && requestDataIn(file, assignment.right);
      if (!where || data === undefined) continue;
      if (isOfTheCaller(where.name, data, assignment.right) || isReadLater(file, assignment))
        yield { node: assignment, problem: `\`${where.name}\` keeps \`${data}\`, and ${where.reason}${FIX}` };
    }
    for (const call of file.all('CallExpression')) yield* atCall(project, file, call);
  },
};

/** A name says so, or it is the request itself. What a function makes of the whole request may be anything, and `settings = req.body` is of a form. */
const isOfTheCaller = (name: string, data: string, right: Node): boolean =>
  (CALLER.test(name) && !data.endsWith('.body')) ||
  (data.includes('.') ? CALLER.test(data) : is(right, 'Identifier') && right.name === data);

/** The same handler reads it after it has waited: by then another request has set it. */
function isReadLater(file: SourceFile, assignment: AssignmentExpression): boolean {
  const target = file.referenceOf(assignment.left);
  const handler = file.functionOf(assignment);
  if (!target || !handler?.body) return false;
  const after = Array.from(within(handler.body)).filter((each) => startOf(each) > endOf(assignment));
  const waits = after.find((each) => is(each, 'AwaitExpression'));
  return after.some((each) => {
    if (!is(each, 'Identifier', 'MemberExpression') || !waits || startOf(each) < endOf(waits)) return false;
    const parent = file.parentOf(each);
    const reference = is(parent, 'AssignmentExpression') && parent.left === each ? undefined : file.referenceOf(each);
    return !!reference && isSame(reference, target);
  });
}

/** `users.setCurrent(req.user)`, `Object.assign(state, { user: req.user })`, `store.set('user', req.user)`, `app.set(...)`. */
function* atCall(project: Project, file: SourceFile, call: CallExpression): Generator<Finding> {
  const [first, second] = call.arguments;
  const method = methodCall(call);
  const found = function* (value: Node | undefined, name: string, where: Shared | undefined): Generator<Finding> {
    const data = value && where && requestDataIn(file, value);
    if (data !== undefined && where && value && isOfTheCaller(name, data, value))
      yield { node: call, problem: `\`${name}\` keeps \`${data}\`, and ${where.reason}${FIX}` };
  };
  if (first && method?.name === 'assign' && is(method.receiver, 'Identifier') && method.receiver.name === 'Object') {
    const where = sharedTarget(project, file, first);
    yield* found(second, where?.name ?? '', where);
  } else if (method?.name === 'set' && is(first, 'Literal') && typeof first.value === 'string') {
    // With a key of its own for each request it is a map of requests.
    const variable = file.variableOf(method.receiver);
    const isKept = variable?.name === 'app' || (variable && is(project.valueOf(file, variable)?.node, 'NewExpression'));
    if (isKept) yield* found(second, `${variable.name}.${first.value}`, sharedTarget(project, file, method.receiver));
  }
  const helper = helperCalledBy(project, file, call);
  for (const { at, where } of helper ? settersIn(project, helper) : [])
    yield* found(call.arguments[at], `${where.name} of ${helper?.name ?? ''}()`, where);
}

/** A parameter that a setter keeps, and its target. */
interface Setter {
  readonly at: number;
  readonly where: Shared;
}
const setters = new WeakMap<Node, readonly Setter[]>();

function settersIn(project: Project, { file, node }: Helper): readonly Setter[] {
  const known = setters.get(node);
  if (known) return known;
  const list: Setter[] = [];
  for (const each of node.body ? within(node.body) : []) {
    if (!is(each, 'AssignmentExpression') || each.operator !== '=') continue;
    const variable = file.variableOf(each.right);
    const at = variable ? node.params.findIndex((parameter) => parameter === variable.node) : -1;
    const where = at === -1 ? undefined : sharedTarget(project, file, each.left);
    if (where) list.push({ at, where });
  }
  setters.set(node, list);
  return list;
}

interface Shared {
  readonly name: string;
  readonly reason: string;
}

const GLOBALS = new Set(['global', 'globalThis', 'process', 'module', 'exports']);

function sharedTarget(project: Project, file: SourceFile, left: Node): Shared | undefined {
  // `sessions[req.id] = ...` keeps the data of each request under a key of its own.
  if (is(left, 'MemberExpression') && left.computed && !is(left.property, 'Literal')) return undefined;
  const { base: start, names } = chainOf(left);
  if (is(start, 'Identifier') && GLOBALS.has(start.name) && !file.variableOf(start))
    return { name: [start.name, ...names].join('.'), reason: 'a global variable belongs to all requests' };
  const target = file.referenceOf(left);
  if (!target) return undefined;
  const { base, path } = target;
  const name = nameOf(target);
  if (isVariable(base)) {
    if (base.kind === 'parameter')
      return path[0] === 'app' && path[1] === 'locals'
        ? { name, reason: 'what `app` has belongs to all requests' }
        : undefined;
    if (base.owner || base.kind === 'function' || !file.functionOf(left)) return undefined;
    if (base.kind === 'import' && (path.length === 0 || !/^[.@~#]|^src\//.test(base.imported?.from ?? '')))
      return undefined;
    return {
      name,
      reason:
        base.kind === 'class' || isClass(project.valueOf(file, base)?.node)
          ? 'a static field belongs to all requests'
          : 'a variable of a module belongs to all requests',
    };
  }
  if (!isClass(base) || path.length === 0) return undefined;
  const reason = isStatic(file, left) ? 'a static field belongs to all requests' : sharedBecause(project, file, base);
  return reason === undefined ? undefined : { name, reason };
}

/** `this` of a static method is the class. */
function isStatic(file: SourceFile, left: Node): boolean {
  const owner = Array.from(file.ancestorsOf(unwrapped(left))).find((each) => is(each, 'MethodDefinition'));
  return is(owner, 'MethodDefinition') && owner.static;
}
