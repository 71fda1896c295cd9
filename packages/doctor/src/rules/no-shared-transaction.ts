import type { Node } from 'oxc-parser';
import { sharedBecause } from '../program/lifetimes.js';
import type { Project } from '../program/project.js';
import { isVariable, nameOf, type Reference, type SourceFile } from '../program/source-file.js';
import { is, isClass } from '../program/syntax.js';
import { isTransaction } from '../program/transactions.js';
import type { Check } from './rule.js';

export const noSharedTransaction: Check = {
  name: 'no-shared-transaction',
  description: 'An object that many requests share keeps no transaction',
  fix: 'Pass the handle as an argument, or make an object for each transaction, as a scope does.',
  *find(file, project) {
    for (const assignment of file.all('AssignmentExpression')) {
      const target = file.referenceOf(assignment.left);
      if (!target || assignment.operator !== '=' || !isTransaction(project, file, target, assignment.right)) continue;
      const reason = sharedTarget(project, file, target, assignment);
      if (reason !== undefined)
        yield {
          node: assignment,
          problem: `\`${nameOf(target)}\` keeps the current transaction, and ${reason}: requests at the same time run their queries in each other's transaction, and later ones on a connection that was released`,
        };
    }
  },
};

function sharedTarget(
  project: Project,
  file: SourceFile,
  { base, path }: Reference,
  assignment: Node,
): string | undefined {
  if (isVariable(base)) {
    if (base.owner || base.kind === 'parameter' || !file.functionOf(assignment)) return undefined;
    if (base.kind === 'class') return 'a static field belongs to all requests';
    return base.kind === 'value' ? 'a variable of a module belongs to all requests' : undefined;
  }
  if (isClass(base)) return path.length === 1 ? sharedBecause(project, file, base) : undefined;
  return moduleObject(file, base);
}

/** `export const db = { current: undefined, async transaction() { this.current = ... } }` */
function moduleObject(file: SourceFile, node: Node): string | undefined {
  return is(node, 'ObjectExpression') && !file.functionOf(node)
    ? 'an object of a module belongs to all requests'
    : undefined;
}
