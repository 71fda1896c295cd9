import type { CallExpression, Node } from 'oxc-parser';
import { outermost } from '../program/calls.js';
import type { SourceFile, Variable } from '../program/source-file.js';
import { is, isFunction, methodCall, unwrapped, within } from '../program/syntax.js';
import { afterHandle, callsIn, mentions, type Transaction, transactionsOf } from '../program/transactions.js';
import type { Check, Finding } from './rule.js';

const TOGETHER = new Set(['all', 'allSettled', 'race', 'any']);

export const noParallelQueriesInTransaction: Check = {
  name: 'no-parallel-queries-in-transaction',
  description: 'Queries of one transaction run one after another',
  fix: 'Await one query after the other (`for (const each of list) await ...`), or send one statement for all rows.',
  *find(file, project) {
    for (const transaction of transactionsOf(project, file)) {
      // postgres.js documents pipelined queries of one transaction, and waits for all of them.
      if (!transaction.handle || transaction.library === 'postgres') continue;
      for (const call of callsIn(file, transaction)) {
        // Ambit's connection runs one statement after another.
        if (transaction.library !== 'ambit') yield* together(file, transaction, call);
        yield* forEach(file, transaction, call);
        yield* notAwaited(file, transaction, call);
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
  const variable = file.variableOf(list);
  if (variable) return isListOfQueries(file, transaction, variable);
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

/** `const all = list.map(...)`, or `all.push(...)` more than once or in a loop. */
function isListOfQueries(file: SourceFile, transaction: Transaction, variable: Variable): boolean {
  if (variable.kind !== 'value' || variable.path.length > 0) return false;
  if (variable.init && runsSeveral(file, transaction, unwrapped(variable.init))) return true;
  const pushed = file.all('CallExpression').filter((call) => {
    const method = methodCall(call);
    return (
      method?.name === 'push' &&
      file.variableOf(method.receiver) === variable &&
      call.arguments.some((each) => !is(unwrapped(each), 'AwaitExpression') && isQuery(file, transaction, each))
    );
  });
  return pushed.length > 1 || pushed.some((call) => isRepeated(file, call, transaction));
}

function isRepeated(file: SourceFile, call: Node, { body }: Transaction): boolean {
  for (const ancestor of file.ancestorsOf(call)) {
    if (ancestor === body) return false;
    if (is(ancestor, 'ForStatement', 'ForOfStatement', 'ForInStatement', 'WhileStatement') || isFunction(ancestor))
      return true;
  }
  return false;
}

/** A call that goes through the handle, or that is given it. */
function isQuery(file: SourceFile, transaction: Transaction, node: Node): boolean {
  const { kind, init } = file.variableOf(node) ?? {};
  if (kind === 'value' && init && !is(unwrapped(init), 'AwaitExpression')) return isQuery(file, transaction, init);
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
  if (!isFunction(callback) || !callback.body || !isQuery(file, transaction, callback.body)) return;
  if (!callback.async && is(callback.body, 'BlockStatement')) return;
  yield {
    node: call,
    problem:
      '`forEach` does not wait for its callback: the transaction commits while these queries still run, and their errors are lost',
  };
}

/** Methods of a handle that run a query at once. */
const RUNS_AT_ONCE = new Set(['query', 'execute', 'none', 'one', 'any', 'save', '$executeRaw', '$executeRawUnsafe']);

function* notAwaited(file: SourceFile, transaction: Transaction, call: CallExpression): Generator<Finding> {
  const method = methodCall(call);
  if (!method || !RUNS_AT_ONCE.has(method.name)) return;
  const [, ...then] = afterHandle(file, transaction, outermost(file, call)) ?? ['', ''];
  const isOwn = then.every((name) => ['then', 'catch', 'finally'].includes(name));
  if (!is(file.parentOf(outermost(file, call)), 'ExpressionStatement')) return;
  // The driver queues it, and calls the callback.
  const hasCallback = call.arguments.some(
    (each) => isFunction(each) || /^(?:cb|callback|done|next)$/.test(nameIn(each)),
  );
  if (!isOwn || hasCallback || transaction.finishes.includes(call)) return;
  yield {
    node: call,
    problem: 'Nobody waits for this query of the transaction: its failure is lost, and it may run after COMMIT',
  };
}

const nameIn = (node: Node): string => (is(node, 'Identifier') ? node.name : '');
