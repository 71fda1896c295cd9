import type { AssignmentExpression, Node } from 'oxc-parser';
import { isSame, isVariable, nameOf, type Reference, type SourceFile } from '../program/source-file.js';
import { contains, endOf, type FunctionNode, is, isFunction, startOf, unwrapped } from '../program/syntax.js';
import { isTransaction } from '../program/transactions.js';
import type { Check } from './rule.js';

export const restoreOuterTransaction: Check = {
  name: 'restore-outer-transaction',
  description: 'Code that sets the current transaction sets back the one before it',
  fix: 'Keep what was there (`const outer = store.tx`) and set it back, or join the transaction that is open.',
  *find(file, project) {
    for (const cleared of file.all('AssignmentExpression')) {
      if (!isNothing(cleared.right)) continue;
      const target = file.referenceOf(cleared.left);
      const body = outermostFunction(file, cleared);
      if (!target || !body || (target.path.length === 0 && isVariable(target.base) && target.base.owner)) continue;
      const set = file
        .all('AssignmentExpression')
        .find(
          (each) =>
            contains(body, each) &&
            startOf(each) < startOf(cleared) &&
            isSameTarget(file, target, each) &&
            isTransaction(project, file, target, each.right),
        );
      if (!set || isGuarded(file, target, body, set)) continue;
      yield {
        node: cleared,
        problem: `\`${nameOf(target)}\` is emptied, not set back: after a transaction inside another one, the rest of the outer one runs outside of it and stays when it is rolled back`,
      };
    }
  },
};

function outermostFunction(file: SourceFile, node: Node): FunctionNode | undefined {
  return Array.from(file.ancestorsOf(node)).findLast((each) => isFunction(each));
}

const isNothing = (node: Node): boolean => {
  const value = unwrapped(node);
  return (
    (is(value, 'Literal') && value.value === null && !('regex' in value && value.regex)) ||
    (is(value, 'Identifier') && value.name === 'undefined')
  );
};

const isSameTarget = (file: SourceFile, target: Reference, { left }: AssignmentExpression): boolean => {
  const other = file.referenceOf(left);
  return !!other && isSame(target, other);
};

/** `if (store.tx) return work(store.tx)` and `const outer = store.tx` know that there may be an outer one. */
function isGuarded(file: SourceFile, target: Reference, body: Node, set: Node): boolean {
  return [...file.all('MemberExpression'), ...file.all('Identifier')].some((each) => {
    if (!contains(body, each) || endOf(each) > startOf(set)) return false;
    const reference = file.referenceOf(each);
    return !!reference && isSame(reference, target);
  });
}
