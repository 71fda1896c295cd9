import type { AssignmentExpression } from 'oxc-parser';
import { sharedBecause } from '../program/lifetimes.js';
import type { Project } from '../program/project.js';
import { requestDataIn } from '../program/requests.js';
import { isVariable, nameOf, type SourceFile } from '../program/source-file.js';
import { chainOf, is, isClass } from '../program/syntax.js';
import type { Check } from './rule.js';

/** What belongs to the caller. A form that sets a mode or a price for all is meant to. */
const CALLER =
  /user|session|auth|token|tenant|account|org|company|customer|member|owner|actor|author|locale|lang|role|permission|cookie|header|identity|principal|trace|correlation|\b(?:ip|get)\b/i;

export const noSharedRequestData: Check = {
  name: 'no-shared-request-data',
  description: 'Data of a request is not kept by what many requests share',
  fix: 'Pass it as an argument, keep it on the request, or in an object of the request, as a scope does.',
  *find(file, project) {
    for (const assignment of file.all('AssignmentExpression')) {
      if (!['=', '??=', '||='].includes(assignment.operator)) continue;
      const where = sharedTarget(project, file, assignment);
      const data = where && requestDataIn(file, assignment.right);
      if (where && data !== undefined && isOfTheCaller(where.name, data, assignment))
        yield {
          node: assignment,
          problem: `\`${where.name}\` keeps \`${data}\`, and ${where.reason}: another request reads this one's data`,
        };
    }
  },
};

/** A name says so, or it is the request itself. What a function makes of the whole request may be anything. */
const isOfTheCaller = (name: string, data: string, { right }: AssignmentExpression): boolean =>
  CALLER.test(name) || (data.includes('.') ? CALLER.test(data) : is(right, 'Identifier') && right.name === data);

const GLOBALS = new Set(['global', 'globalThis']);

function sharedTarget(
  project: Project,
  file: SourceFile,
  { left }: AssignmentExpression,
): { name: string; reason: string } | undefined {
  // `sessions[req.id] = ...` keeps the data of each request under a key of its own.
  if (is(left, 'MemberExpression') && left.computed) return undefined;
  const { base: start, names } = chainOf(left);
  if (is(start, 'Identifier') && GLOBALS.has(start.name) && !file.variableOf(start))
    return { name: [start.name, ...names].join('.'), reason: 'a global variable belongs to all requests' };
  const target = file.referenceOf(left);
  if (!target) return undefined;
  const { base, path } = target;
  if (isVariable(base)) {
    if (base.owner || base.kind === 'parameter' || base.kind === 'function' || !file.functionOf(left)) return undefined;
    if (base.kind === 'import') return undefined;
    return {
      name: nameOf(target),
      reason:
        base.kind === 'class'
          ? 'a static field belongs to all requests'
          : 'a variable of a module belongs to all requests',
    };
  }
  if (!isClass(base) || path.length === 0) return undefined;
  const reason = sharedBecause(project, file, base);
  return reason === undefined ? undefined : { name: nameOf(target), reason };
}
