import type { Node } from 'oxc-parser';
import { isRun, outermost } from '../program/calls.js';
import type { SourceFile } from '../program/source-file.js';
import { contains, is, isFunction, methodCall, textOf, within } from '../program/syntax.js';
import {
  afterHandle,
  callsIn,
  covers,
  mentions,
  sqlOf,
  type Transaction,
  transactionsOf,
} from '../program/transactions.js';
import type { Check } from './rule.js';

export const noCaughtFailureInTransaction: Check = {
  name: 'no-caught-failure-in-transaction',
  description: 'A query that fails is not ignored in a transaction',
  fix: 'Let the error pass, so that all is rolled back; or run the query in a savepoint, or with `ON CONFLICT`.',
  *find(file, project) {
    for (const transaction of transactionsOf(project, file)) {
      if (!isPostgres(transaction) || usesSavepoint(transaction.body)) continue;
      for (const statement of file.all('TryStatement')) {
        const { block, handler } = statement;
        if (!handler || !covers(file, transaction, block) || contains(block, transaction.begin)) continue;
        if (!goesOn(file, transaction, handler.body) || !hasQuery(file, transaction, block)) continue;
        yield { node: handler, problem: problem('This catch') };
      }
      for (const call of callsIn(file, transaction)) {
        const method = methodCall(call);
        const [callback] = call.arguments;
        if (method?.name !== 'catch' || !isFunction(callback) || !callback.body) continue;
        if (!isRun(file, outermost(file, call))) continue;
        if (goesOn(file, transaction, callback.body) && hasQuery(file, transaction, method.receiver))
          yield { node: call, problem: problem('This `catch`') };
      }
    }
  },
};

const problem = (what: string): string =>
  `${what} goes on after a query of the transaction has failed: in PostgreSQL each further one fails (\`current transaction is aborted\`), and \`COMMIT\` rolls back without an error`;

/** MySQL goes on after a failed statement, and an ORM may run on it. */
function isPostgres({ handle, library, begin }: Transaction): boolean {
  if (!handle) return false;
  if (library !== undefined) return ['pg', 'postgres', 'slonik', 'ambit'].includes(library);
  return is(begin, 'CallExpression') && /^\s*begin/i.test(sqlOf(begin) ?? '');
}

const usesSavepoint = (body: Node): boolean =>
  Array.from(within(body)).some(
    (each) =>
      is(each, 'CallExpression') &&
      (/\bsavepoint\b/i.test(textOf(each.arguments[0]) ?? '') || /savepoint/i.test(methodCall(each)?.name ?? '')),
  );

/** Does not throw in each case, nor roll back, nor pass the failure on. */
const goesOn = (file: SourceFile, transaction: Transaction, body: Node): boolean =>
  !(leaves(body) && !Array.from(within(body)).some((each) => is(each, 'ContinueStatement'))) &&
  !mentions(file, transaction, body);

const leaves = (node: Node | null | undefined): boolean =>
  is(node, 'BlockStatement')
    ? node.body.some((each) => leaves(each))
    : is(node, 'IfStatement')
      ? leaves(node.consequent) && leaves(node.alternate)
      : is(node, 'ThrowStatement', 'ReturnStatement', 'BreakStatement', 'SwitchStatement', 'TryStatement');

const hasQuery = (file: SourceFile, transaction: Transaction, node: Node): boolean =>
  Array.from(within(node)).some((each) => {
    if (!is(each, 'CallExpression', 'TaggedTemplateExpression')) return false;
    const names = afterHandle(file, transaction, each);
    return !!names && !['transaction', 'begin', 'savepoint', 'release', 'rollback'].includes(names[0] ?? '');
  });
