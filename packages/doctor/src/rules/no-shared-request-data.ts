import type { AssignmentExpression } from 'oxc-parser';
import { isInConstructor, sharedBecause } from '../program/lifetimes.js';
import type { Project } from '../program/project.js';
import { requestDataIn } from '../program/requests.js';
import { isVariable, nameOf, type SourceFile } from '../program/source-file.js';
import { is, isClass } from '../program/syntax.js';
import type { Check } from './rule.js';

export const noSharedRequestData: Check = {
  name: 'no-shared-request-data',
  description: 'Data of a request is not kept by what many requests share',
  fix: 'Pass it as an argument, keep it on the request, or in an object of the request, as a scope does.',
  *find(file, project) {
    for (const assignment of file.all('AssignmentExpression')) {
      if (!['=', '??=', '||='].includes(assignment.operator)) continue;
      const where = sharedTarget(project, file, assignment);
      const data = where && requestDataIn(file, assignment.right);
      if (where && data !== undefined)
        yield {
          node: assignment,
          problem: `\`${where.name}\` keeps \`${data}\`, and ${where.reason}: another request reads this one's data`,
        };
    }
  },
};

function sharedTarget(
  project: Project,
  file: SourceFile,
  { left }: AssignmentExpression,
): { name: string; reason: string } | undefined {
  // `sessions[req.id] = ...` keeps the data of each request under a key of its own.
  if (is(left, 'MemberExpression') && left.computed) return undefined;
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
  if (!isClass(base) || path.length === 0 || isInConstructor(file, left)) return undefined;
  const reason = sharedBecause(project, file, base);
  return reason === undefined ? undefined : { name: nameOf(target), reason };
}
