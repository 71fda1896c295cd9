import { expect, it } from 'vitest';
import { causeOf, signsOf } from '../src/signs.js';
import type { RequestDetails, Step } from '../src/wire.js';
import { details } from './support/requests.js';

/**
 * Requests, each under its name: a line for each step with its time, kind and fields, a line `request` with fields of the whole, and behind the
 * arrow each trouble that is found, with a part of its fields; no other is found. `0-4` stands for five steps.
 */
const EXAMPLES = `
N+1: not for background work
0-2 statement
5000-5002 statement

N+1: not for attempts of one transaction
0-2 statement | span=1
3 rollback | span=1
4-6 statement | span=2
7 commit | span=2
request | outcome=committed | failedAttempts=1

N+1: within a transaction that was rolled back
0-4 statement | span=1
9 rollback | span=1
request | status=409
→ N+1

N+1: hides no time that it does not explain
0-5 statement | took=1
request | milliseconds=3000
→ N+1
→ slow

slow: after the last line that is known
10 statement | where=before.ts:1:1 | took=5
1500 statement | took=5
request | milliseconds=1600
→ slow | where=before.ts:1:1 | cause=1.5 s of it passed after this line

failed service: the definition of the one before a captive dependency
1 failed | path=IOffers>IDiscounts>ICampaigns | error=ContainerError AMBIT_CAPTIVE_DEPENDENCY
request | status=500
→ failed service | where=IDiscounts.ts | fix=register both for the same scope

idle transaction: without statements of its own, whatever others do
0 begin | span=1
1 statement | span=1 | where=held.ts:1:1
10 begin | span=2
700 statement | span=2
800 commit | span=2
900 statement | outside=yes
1300 commit | span=1
→ idle transaction | where=held.ts:1:1 | cause=A transaction was open for 1.3 s without a statement

deadlock: not retried, whatever else was committed
1 statement | span=1 | error=PostgresError 40P01 deadlock detected
4 commit | span=2
request | outcome=committed | failedAttempts=1 | status=503
→ deadlock | cause=not retried with success, and responded 503

failed commit: the last statement of its own transaction
1 statement | span=1 | where=order.ts:1:1
2 statement | outside=yes
3 rollback | span=1 | error=TransactionError AMBIT_TX_COMMIT_FAILED 23503
4 statement | span=2
request | outcome=rolled back | status=500
→ failed commit | where=order.ts:1:1 | fix=The row that it refers to

4xx: a decision of the application, after a refused statement
1 statement | span=1 | error=PostgresError 23505
2 rollback | span=1 | error=HttpError 409
request | outcome=rolled back | status=409

4xx: hides no conflict, no late statement and no missing key
1 statement | error=PostgresError 40P01
2 statement | error=TransactionError AMBIT_TX_FINISHED
3 failed | path=IMailer | error=ContainerError AMBIT_NOT_REGISTERED
request | status=404
→ failed service
→ after commit
→ deadlock

finding: once, where the steps show more of it
0-5 statement
7 finding | found=repeated-statement
→ N+1

aborted: a statement was cancelled for it
1 statement | error=PostgresError 57014 canceled
request | state=aborted | outcome=rolled back
→ aborted
`;

/** The fields of a line, such as `took=5`; numbers as numbers, and a path as the keys in it. */
function fieldsOf(fields: readonly string[]): Record<string, unknown> {
  const read = (field: string): [string, unknown] => {
    const [name = '', value = ''] = field.split(/=(.*)/);
    return [
      name,
      name === 'path' ? value.split('>') : value === 'yes' || (/^\d+$/.test(value) ? Number(value) : value),
    ];
  };
  return Object.fromEntries(fields.map(read));
}

function stepsOf(line: string): Step[] {
  const [head = '', ...fields] = line.split(' | ');
  const [, first, last = first, kind = ''] = /^(\d+)(?:-(\d+))? (.*)$/.exec(head) ?? [];
  const known = kind === 'statement' ? { sql: 'SELECT a', where: 'a.ts:1:1' } : {};
  const at = (i: number): Step => ({ kind, at: Number(first) + i, ...known, ...fieldsOf(fields) }) as Step;
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => at(i));
}

const examples = EXAMPLES.trim()
  .split('\n\n')
  .map((text): readonly [string, readonly string[]] => {
    const [name = '', ...lines] = text.split('\n');
    return [name, lines];
  });

it.each(examples)('%s', (_, lines) => {
  const steps = lines.filter((line) => /^\d/.test(line)).flatMap(stepsOf);
  const statementMs = steps.reduce((sum, { kind, took = 0 }) => sum + (kind === 'statement' ? took : 0), 0);
  const more = fieldsOf(lines.filter((line) => line.startsWith('request')).flatMap((line) => line.split(' | ')));
  const inOrder = steps.toSorted((one, other) => one.at - other.at);
  const request: RequestDetails = { ...details({ milliseconds: 100, statementMs, steps: inOrder }), ...more };
  const found = signsOf(request, { slowMs: 1000, limitMs: 1000 });
  const causes = found.map((sign) => causeOf(sign, (service) => `${service}.ts:1:1`));
  const expected = lines.flatMap((line) => {
    const [, kind, fields = ''] = /^→ ([^|]*?)(?: \| (.*))?$/.exec(line) ?? [];
    if (kind === undefined) return [];
    const parts = Object.entries(fieldsOf(fields === '' ? [] : fields.split(' | ')));
    return [
      { kind, ...Object.fromEntries(parts.map(([name, part]) => [name, expect.stringContaining(String(part))])) },
    ];
  });
  expect(causes).toMatchObject(expected);
});
