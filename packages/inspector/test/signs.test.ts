import { expect, it } from 'vitest';
import { RequestRecord } from '../src/requests.js';
import { causeOf, signsOf } from '../src/signs.js';
import type { Step } from '../src/wire.js';

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

slow: beside a cause that explains little of its time
0 connection | took=200
300 statement | sql=SELECT 1 FROM stations FOR UPDATE | where=plan.ts:1:1 | took=4000
request | milliseconds=5000
→ pool
→ slow | where=plan.ts:1:1

slow: for a process that was busy, whose statement had its response long before
0 statement | where=a.ts:1:1 | took=1200 | late=1100
1200 responded | late=1100
request | milliseconds=1200
→ slow | cause=1.1 s of which this process computed

slow: for one call, of which a database has no plan
0 call | host=a:1 | where=a.ts:1:1 | took=900
request | milliseconds=1000
→ slow | where=a.ts:1:1 | fix=Give the call a time limit

slow: for the statement of a driver that is synchronous, which is what the process does
0 statement | where=a.ts:1:1 | took=1200
1200 responded | late=1150
request | milliseconds=1200
→ slow | where=a.ts:1:1 | cause=1.2 s in one statement

idle transaction: for what cannot be undone, and not only before BEGIN
0 begin | span=1
1 statement | span=1 | where=a.ts:1:1
10 call | host=a:1 | method=POST | where=b.ts:1:1 | took=1200 | status=201
1300 commit | span=1
→ idle transaction | where=b.ts:1:1 | fix=Call it in afterCommit()
→ slow call

hidden failure: not of what was tried again
1 statement | sql=UPDATE cars | error=PostgresError 23505
2 statement | sql=UPDATE cars
request | status=200

hidden failure: a response that says that the client is at fault
1 call | host=a:1 | where=a.ts:1:1 | status=503
request | status=404
→ hidden failure | where=a.ts:1:1 | fix=Respond 502 or 503

hidden failure: a statement of which the client gets no word
1 statement | where=a.ts:1:1 | error=PostgresError 23505
→ hidden failure | where=a.ts:1:1 | cause=Responded 200 although the database refused a statement: PostgresError 23505

repeated call: only one that changes something, and has no response
1 call | host=a:1 | method=POST | where=a.ts:1:1 | error=TimeoutError
2 call | host=a:1 | method=POST | where=a.ts:1:1 | status=201
3 call | host=b:1 | method=GET | where=b.ts:1:1 | error=TimeoutError
4 call | host=b:1 | method=GET | where=b.ts:1:1 | status=200
request | status=200
→ repeated call | where=a.ts:1:1 | cause=may have done it twice

failed handler: with the line of its call, where the error has none
1 call | host=a:1 | where=a.ts:1:1 | error=TimeoutError
2 threw | error=TimeoutError
request | status=500
→ failed handler | where=a.ts:1:1

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

N+1: calls at once are no advice to send them at once
0-24 call | host=a:1 | where=a.ts:1:1 | took=100 | status=429
→ N+1 | cause=25 calls at once; 25 of them got 429 | fix=a few at a time

N+1: writes are not read with one statement
0-4 statement | sql=INSERT INTO a | where=a.ts:1:1
→ N+1 | fix=one INSERT

survived rollback: only what changed something within a transaction that was rolled back
0 begin | span=1
1 statement | outside=yes | sql=INSERT INTO ledger | where=ledger.ts:1:1
2 statement | outside=yes
1 call | host=a:1 | method=POST | where=a.ts:1:1 | status=201
2 call | host=b:1 | where=b.ts:1:1 | status=200
2 call | host=c:1 | method=POST | where=c.ts:1:1 | status=404
3 rollback | span=1
4 statement | outside=yes | sql=INSERT INTO audit
4 call | host=d:1 | method=POST | where=d.ts:1:1 | status=201
request | status=400 | outcome=rolled back
→ survived rollback | where=ledger.ts:1:1
→ survived rollback | where=a.ts:1:1 | cause=The call POST a:1 succeeded

second connection: without a line of its own, that of the last statement before it
0 begin | span=1
1 statement | span=1 | where=checkin.ts:1:1
2 no connection | took=3000 | error=TransactionError AMBIT_TX_ACQUIRE_TIMEOUT
3010 rollback | span=1
request | status=500 | milliseconds=3020
→ second connection | where=checkin.ts:1:1

finding: once, where the steps show more of it
0-5 statement
7 finding | found=too-many-statements
→ N+1

aborted: with what was cancelled for it, and what failed after it
1 statement | error=PostgresError 57014 canceled: due to user request
40 aborted
30 statement | took=20 | error=PostgresError 08006 connection lost
41 statement | error=TransactionError AMBIT_TX_FINISHED
42 rollback | error=TransactionError AMBIT_TX_COMMIT_FAILED
43 threw | error=Error ERR_HTTP_HEADERS_SENT
request | state=aborted | outcome=rolled back | milliseconds=40
→ aborted

failed handler: it ended the response, and no client did
1 threw | error=TypeError | where=a.ts:1:1
2 aborted
request | state=aborted | milliseconds=2
→ failed handler | where=a.ts:1:1

endless: its client may leave, it may take long, and ask for news again and again
0-9 statement | rows=9000
5000 aborted
request | state=aborted | milliseconds=5000 | endless=yes | rows=90000

second connection: its statements are why the transaction was idle
0 begin | span=1
1 statement | span=1
2-20 statement | outside=yes | took=50 | where=second.ts:1:1
300 statement | outside=yes | took=1000 | where=second.ts:1:1
1350 commit | span=1
→ second connection | where=second.ts:1:1 | cause=kept its own for 1.3 s
→ N+1
`;

/** A request that went well. */
const FINE = new RequestRecord(1, { method: 'GET', route: () => '/api/users/:id' }, 0, 1000);
FINE.responded(200, 100, 0);

/** The fields of a line, such as `took=5`; numbers as numbers, and a path as the keys in it. */
function fieldsOf(line: string): Record<string, unknown> {
  const fields = line.split(' | ').slice(1);
  const valueOf = (name: string, text: string): unknown => {
    if (name === 'path') return text.split('>');
    return text === 'yes' || (/^\d+$/.test(text) ? Number(text) : text);
  };
  return Object.fromEntries(
    Array.from(fields.join('\n').matchAll(/^(\w+)=(.*)$/gm), ([, name = '', text = '']) => [name, valueOf(name, text)]),
  );
}

function stepsOf(line: string): Step[] {
  const [, first, last = first, kind = ''] = /^(\d+)(?:-(\d+))? ([^|]*?)(?: \||$)/.exec(line) ?? [];
  const known = kind === 'statement' ? { sql: 'SELECT a', where: 'a.ts:1:1' } : {};
  const at = (i: number): Step => ({ kind, at: Number(first) + i, ...known, ...fieldsOf(line) }) as Step;
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => at(i));
}

it.each(EXAMPLES.trim().split('\n\n'))('%s', (example) => {
  const lines = example.split('\n');
  const steps = lines.filter((line) => /^\d/.test(line)).flatMap(stepsOf);
  const more = fieldsOf(lines.find((line) => line.startsWith('request')) ?? '');
  const inOrder = steps.toSorted((one, other) => one.at - other.at);
  const found = signsOf({ ...FINE.details(100), steps: inOrder, ...more }, { slowMs: 1000, limitMs: 1000 });
  const causes = found.map((sign) => causeOf(sign, (service) => `${service}.ts:1:1`));
  const expected = lines
    .filter((line) => line.startsWith('→ '))
    .map((line) => {
      const parts = Object.entries(fieldsOf(line));
      const kind = line.slice(2).split(' |')[0];
      return {
        kind,
        ...Object.fromEntries(parts.map(([name, part]) => [name, expect.stringContaining(String(part))])),
      };
    });
  expect(causes).toMatchObject(expected);
});
