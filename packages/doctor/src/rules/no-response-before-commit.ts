import type { CallExpression, Node } from 'oxc-parser';
import type { SourceFile } from '../program/source-file.js';
import { chainOf, endOf, is, isFunction, methodCall, startOf, within } from '../program/syntax.js';
import { callsIn, type Transaction, transactionsOf } from '../program/transactions.js';
import type { Check } from './rule.js';

const SENDS = new Set(['json', 'jsonp', 'send', 'sendStatus', 'end', 'redirect', 'render', 'sendFile', 'download']);
const RESPONSE = /^_?(?:res|resp|response|reply|rep)$/;

export const noResponseBeforeCommit: Check = {
  name: 'no-response-before-commit',
  description: 'A response is sent after COMMIT',
  fix: 'Return what the response needs from the transaction, and send it afterwards.',
  *find(file, project) {
    for (const transaction of transactionsOf(project, file)) {
      // Ambit sends what a handler responds after COMMIT.
      if (transaction.library === 'ambit') continue;
      for (const call of callsIn(file, transaction)) {
        if (!sends(file, call) || isRefusal(call)) continue;
        if (transaction.finishes.length > 0 && !commitFollows(file, transaction, call)) continue;
        yield {
          node: call,
          problem:
            'The response is sent before COMMIT: if the commit fails, the client has read that it is stored, and its next request may not see it yet',
        };
      }
    }
  },
};

function sends(file: SourceFile, call: CallExpression): boolean {
  if (!SENDS.has(methodCall(call)?.name ?? '')) return false;
  const { base } = chainOf(call);
  const variable = file.variableOf(base);
  return variable?.kind === 'parameter' && RESPONSE.test(variable.name);
}

/** `res.status(404).json(...)`: what is refused may be sent at once. */
function isRefusal(call: CallExpression): boolean {
  for (const each of within(call.callee)) {
    if (!is(each, 'CallExpression') || !['status', 'code', 'sendStatus'].includes(methodCall(each)?.name ?? ''))
      continue;
    const [status] = each.arguments;
    if (is(status, 'Literal') && typeof status.value === 'number') return status.value >= 400;
    return !is(status, 'Literal');
  }
  const [status] = call.arguments;
  return methodCall(call)?.name === 'sendStatus' && is(status, 'Literal') && Number(status.value) >= 400;
}

/** True if the program goes on from the response to the commit: neither returns nor throws before. */
function commitFollows(file: SourceFile, { body, to }: Transaction, call: CallExpression): boolean {
  let inner: Node = call;
  for (const ancestor of file.ancestorsOf(call)) {
    if (is(inner, 'ReturnStatement', 'ThrowStatement')) return false;
    if (is(ancestor, 'BlockStatement')) {
      const rest = ancestor.body.filter((each) => startOf(each) >= endOf(inner));
      if (rest.some((each) => startOf(each) < to && is(each, 'ReturnStatement', 'ThrowStatement'))) return false;
      if (rest.some((each) => startOf(each) <= to && to <= endOf(each))) return true;
    }
    if (ancestor === body || isFunction(ancestor)) return false;
    inner = ancestor;
  }
  return false;
}
