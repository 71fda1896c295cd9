import type { CallExpression } from 'oxc-parser';
import { helperCalledBy, isRun, outermost } from '../program/calls.js';
import type { Project } from '../program/project.js';
import type { SourceFile } from '../program/source-file.js';
import { chainOf, is, methodCall, startOf, within } from '../program/syntax.js';
import { afterHandle, callsIn, mentions, transactionsOf } from '../program/transactions.js';
import type { Check } from './rule.js';

export const noEffectsInTransaction: Check = {
  name: 'no-effects-in-transaction',
  description: 'A transaction calls no other system',
  fix: 'Call it after COMMIT, or store the call with the data (an outbox) and send it from there.',
  *find(file, project) {
    for (const transaction of transactionsOf(project, file)) {
      const calls = callsIn(file, transaction);
      // A method of Ambit's has a transaction from its first statement on.
      const first = calls.find((call) => afterHandle(file, transaction, call));
      const isLazy = ['ambit', 'nestjs-cls'].includes(transaction.library ?? '');
      for (const call of calls) {
        if (isLazy && !(first && startOf(first) < startOf(call))) continue;
        if (!isRun(file, outermost(file, call)) || mentions(file, transaction, call.callee)) continue;
        const effect = effectOf(project, file, call);
        if (effect !== undefined)
          yield {
            node: call,
            problem: `\`${effect}\` calls another system in an open transaction: what it does stays when the transaction is rolled back, and its connection and locks are held until the response is there`,
          };
      }
    }
  },
};

const CLIENTS = /^(?:axios|got|ky|superagent|needle|nodeFetch)$/;
const SENDS = /^(?:sendMail|sendEmail|sendTransacEmail|sendMessage)$/;

/** The name of a call that leaves the process: of a client of HTTP or of a mail server, or of a function that awaits one. */
function effectOf(project: Project, file: SourceFile, call: CallExpression, depth = 0): string | undefined {
  const { base, names } = chainOf(call.callee);
  const name = is(base, 'Identifier') ? base.name : '';
  const shown = [name || 'this', ...names].join('.');
  if (name === 'fetch' && names.length === 0 && file.variableOf(base)?.kind !== 'function') return shown;
  if (CLIENTS.test(name) && names.length < 2) return shown;
  if (/^(?:stripe|razorpay|twilio|resend|sgMail)\w*$/i.test(name) && names.length > 0) return shown;
  const last = methodCall(call)?.name ?? '';
  if (SENDS.test(last) && /mail|transport|smtp|bot/i.test(shown)) return shown;
  if (/^#?httpService$/.test(names.at(-2) ?? '')) return shown;
  const helper = depth < 2 ? helperCalledBy(project, file, call) : undefined;
  if (!helper) return undefined;
  for (const inner of within(helper.node))
    if (is(inner, 'CallExpression') && isRun(helper.file, outermost(helper.file, inner))) {
      const effect = effectOf(project, helper.file, inner, depth + 1);
      if (effect !== undefined) return helper.name;
    }
  return undefined;
}
