import type { Node } from 'oxc-parser';
import { decoratorName } from './fields.js';
import type { SourceFile, Variable } from './source-file.js';
import { awaited, chainOf, is, isFunction, methodCall, typeNameOf, unwrapped, within } from './syntax.js';

const NAMES = /^_?(?:req|request|ctx|context|c)$/;
const ROUTES = /^(?:get|post|put|patch|delete|all|use|options|head|route|addHook|param)$/;
const TYPES =
  /^(?:(?:Fastify|Next|NextApi|Hono|Authenticated)?Request|IncomingMessage|ParameterizedContext|RequestWithUser)$/;
const DECORATORS = /^(?:Req|Request|Body|Param|Query|Headers|Session|Ip|CurrentUser|Ctx)$/;
/** Properties of a request that belong to the application. */
const NOT_OF_THE_REQUEST = new Set(['app', 'server', 'log', 'diScope']);

/** True of a parameter that is a request, or a part of it that a framework passes. */
function isRequest({ kind, node, owner, name, type }: Variable, file: SourceFile): boolean {
  if (kind !== 'parameter' || !owner) return false;
  if ('decorators' in node && node.decorators?.some((each) => DECORATORS.test(decoratorName(each) ?? ''))) return true;
  if (TYPES.test(typeNameOf(type) ?? '') && NAMES.test(name)) return true;
  if (!NAMES.test(name)) return false;
  const [first, second] = owner.params;
  const isPair =
    first === node && is(second, 'Identifier') && /^_?(?:res|response|reply|next)$/.test(second.name) && name !== 'c';
  if (isPair) return true;
  const call = file.parentOf(owner);
  return (
    is(call, 'CallExpression') &&
    call.callee !== owner &&
    ROUTES.test(methodCall(call)?.name ?? '') &&
    first === node &&
    call.arguments.length > 1
  );
}

export const hasRequests = (file: SourceFile): boolean =>
  file.functions.some(({ params }) =>
    params.some((parameter) => {
      const variable = file.variableOf(parameter);
      return !!variable && isRequest(variable, file);
    }),
  );

/** The name of request data that a value is or has, such as `req.user`. */
export function requestDataIn(file: SourceFile, value: Node, depth = 0): string | undefined {
  for (const each of within(awaited(value), (node) => !isFunction(node) && !is(node, 'SpreadElement'))) {
    if (!is(each, 'Identifier') || isPropertyName(file, each)) continue;
    const variable = file.variableOf(each);
    if (!variable) continue;
    if (isRequest(variable, file)) {
      const names = namesAfter(file, each);
      if (!NOT_OF_THE_REQUEST.has(names[0] ?? '')) return [each.name, ...names].join('.');
    } else if (
      variable.owner &&
      variable.init &&
      variable.kind === 'value' &&
      depth < 2 &&
      !is(awaited(variable.init), 'ObjectExpression')
    ) {
      const { base, names } = chainOf(awaited(variable.init));
      if (NOT_OF_THE_REQUEST.has([...names, ...variable.path][0] ?? '') && is(base, 'Identifier')) continue;
      const from = requestDataIn(file, variable.init, depth + 1);
      if (from !== undefined) return from;
    }
  }
  return undefined;
}

const isPropertyName = (file: SourceFile, node: Node): boolean => {
  const parent = file.parentOf(node);
  return (
    (is(parent, 'MemberExpression') && parent.property === node && !parent.computed) ||
    (is(parent, 'Property') && parent.key === node && !parent.shorthand)
  );
};

/** `user.id` of `req.user.id` */
function namesAfter(file: SourceFile, node: Node): readonly string[] {
  let whole = node;
  for (const parent of file.ancestorsOf(node)) {
    if (!is(parent, 'MemberExpression') || parent.object !== whole) break;
    whole = parent;
  }
  return chainOf(unwrapped(whole)).names;
}
