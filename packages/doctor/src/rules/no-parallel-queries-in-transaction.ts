import type { CallExpression, Node } from 'oxc-parser';
import type { SourceFile } from '../program/source-file.js';
import { is, isFunction, methodCall, within } from '../program/syntax.js';
import { afterHandle, covers, mentions, type Transaction, transactionsOf } from '../program/transactions.js';
import type { Check, Finding } from './rule.js';

const TOGETHER = new Set(['all', 'allSettled', 'race', 'any']);

export const noParallelQueriesInTransaction: Check = {
  name: 'no-parallel-queries-in-transaction',
  description: 'Queries of one transaction run one after another',
  fix: 'Await one query after the other (`for (const each of list) await ...`), or send one statement for all rows.',
  *find(file) {
    for (const transaction of transactionsOf(file)) {
      // postgres.js documents pipelined queries of one transaction, and waits for all of them.
      if (!transaction.handle || transaction.library === 'postgres') continue;
      for (const call of file.all('CallExpression')) {
        if (!covers(file, transaction, call)) continue;
        yield* together(file, transaction, call);
        yield* forEach(file, transaction, call);
      }
    }
  },
};

function* together(file: SourceFile, transaction: Transaction, call: CallExpression): Generator<Finding> {
  const method = methodCall(call);
  if (!method || !TOGETHER.has(method.name) || !is(method.receiver, 'Identifier') || method.receiver.name !== 'Promise')
    return;
  const [list] = call.arguments;
  if (!list || !runsSeveral(file, transaction, list)) return;
  yield {
    node: call,
    problem: `\`Promise.${method.name}\` sends several queries of one transaction at once: it has one connection, so they wait for each other, and when one fails the transaction is rolled back while the others still run`,
  };
}

/** More than one query: two elements of the list, or a callback for each of several. */
function runsSeveral(file: SourceFile, transaction: Transaction, list: Node): boolean {
  if (is(list, 'ArrayExpression')) {
    const queries = list.elements.filter(
      (element) =>
        element &&
        (is(element, 'SpreadElement')
          ? runsSeveral(file, transaction, element.argument)
          : isQuery(file, transaction, element)),
    );
    return queries.length > 1 || queries.some((element) => is(element, 'SpreadElement'));
  }
  if (!is(list, 'CallExpression')) return false;
  const name = methodCall(list)?.name;
  const callback = list.arguments.find((argument) => isFunction(argument));
  return (
    (name === 'map' || name === 'flatMap') &&
    isFunction(callback) &&
    !!callback.body &&
    isQuery(file, transaction, callback.body)
  );
}

/** A call that goes through the handle, or that is given it. */
function isQuery(file: SourceFile, transaction: Transaction, node: Node): boolean {
  for (const each of within(node)) {
    if (!is(each, 'CallExpression')) continue;
    if (afterHandle(file, transaction, each)) return true;
    if (each.arguments.some((argument) => !isFunction(argument) && mentions(file, transaction, argument))) return true;
  }
  return false;
}

function* forEach(file: SourceFile, transaction: Transaction, call: CallExpression): Generator<Finding> {
  if (methodCall(call)?.name !== 'forEach') return;
  const callback = call.arguments[0];
  if (!isFunction(callback) || !callback.async || !callback.body || !isQuery(file, transaction, callback.body)) return;
  yield {
    node: call,
    problem:
      '`forEach` does not wait for its async callback: the transaction commits while these queries still run, and their errors are lost',
  };
}
