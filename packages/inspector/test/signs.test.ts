import { describe, expect, it } from 'vitest';
import { idOf, type Sign, signsOf } from '../src/signs.js';
import { Troubles } from '../src/troubles.js';
import type { RequestDetails, Step } from '../src/wire.js';
import { details } from './support/requests.js';

const CONFLICT = 'PostgresError 40P01 deadlock detected';

/** A request with these steps: each may leave out what is of no matter. */
function signs(steps: readonly Step[], more: Partial<RequestDetails> = {}): Sign[] {
  const statementMs = steps.reduce((sum, { kind, took = 0 }) => sum + (kind === 'statement' ? took : 0), 0);
  const inOrder = steps.toSorted((one, other) => one.at - other.at);
  return signsOf(details({ route: '/orders', milliseconds: 100, statementMs, ...more, steps: inOrder }), 1000);
}
const statement = (at: number, more: Partial<Step> = {}): Step => ({
  kind: 'statement',
  at,
  sql: 'SELECT a',
  where: 'a.ts:1:1',
  ...more,
});
const times = (count: number, more: Partial<Step> = {}): Step[] =>
  Array.from({ length: count }, (_, i) => statement(i, more));
const kindsOf = (found: readonly Sign[]): string[] => found.map(({ kind }) => kind);

describe('N+1', () => {
  it('is no transaction that was retried', () => {
    const attempt = (span: number, end: Step['kind']): Step[] => [
      ...times(2, { span, at: span }),
      { kind: end, at: span + 0.5, span },
    ];
    const retried = [attempt(1, 'rollback'), attempt(2, 'rollback'), attempt(3, 'commit')].flat();
    expect(signs(retried, { failedAttempts: 2, outcome: 'committed' })).toEqual([]);
    const within = [...times(5, { span: 1 }), { kind: 'rollback', at: 9, span: 1 } as const];
    expect(kindsOf(signs(within, { status: 409 }))).toEqual(['N+1']);
  });

  it('names the line that sent most of them, and counts nothing after the response', () => {
    const cause = 'One request sent the statement at least 6 times, from 2 lines, 4 of them from this one';
    const two = [...times(2, { where: 'a.ts:1:1' }), ...times(4, { where: 'b.ts:2:2' }), ...times(3, { at: 5000 })];
    expect(signs(two, { dropped: 4000 })).toMatchObject([{ kind: 'N+1', where: 'b.ts:2:2', cause }]);
    expect(signs([...times(3), ...times(3, { at: 5000 })])).toEqual([]);
  });

  it('hides no time that it does not explain', () => {
    expect(kindsOf(signs(times(6, { took: 1 }), { milliseconds: 3000 }))).toEqual(['N+1', 'slow']);
  });

  it('is found over HTTP, too: many calls to one server from one line', () => {
    const calls = Array.from({ length: 25 }, (_, i): Step => ({
      kind: 'call',
      at: i * 100,
      took: 100,
      host: 'bank.example',
      where: 'bank.ts:1:1',
    }));
    const cause = 'One request called bank.example 25 times, for 2.5 s in all';
    expect(signs(calls, { milliseconds: 2500 })).toMatchObject([{ kind: 'N+1', where: 'bank.ts:1:1', cause }]);
  });
});

describe('a slow request', () => {
  it('names the line before the longest time in which nothing was recorded', () => {
    const steps = [
      statement(10, { where: 'before.ts:1:1', took: 5 }),
      statement(1500, { where: 'behind.ts:2:2', took: 5 }),
      { kind: 'responded', at: 1600 } as const,
    ];
    expect(signs(steps, { milliseconds: 1600 })).toMatchObject([
      { kind: 'slow', where: 'before.ts:1:1', cause: expect.stringContaining('1.5 s of it passed after this line') },
    ]);
    expect(signs([], { milliseconds: 1600 })).toMatchObject([{ kind: 'slow', about: '/orders' }]);
  });

  it('says which service took the time, or that the process was busy', () => {
    const created: Step = { kind: 'created', at: 0, took: 1400, key: 'IReport' };
    const cause = 'Took 1.5 s, of which 1.4 s in creating IReport';
    expect(signs([created], { milliseconds: 1500 })).toMatchObject([{ cause }]);
    const late: Step = { kind: 'responded', at: 1500, late: 1200 };
    expect(signs([late], { milliseconds: 1500 })).toMatchObject([
      { cause: expect.stringContaining('this process was busy') },
    ]);
  });
});

it('a failed service without a line of its error has that of its definition, and of a captive dependency the one before', () => {
  const error = 'ContainerError AMBIT_CAPTIVE_DEPENDENCY';
  const step: Step = { kind: 'failed', at: 1, path: ['IOffers', 'IDiscounts', 'ICampaigns'], error };
  const troubles = new Troubles((key) => `${key}.ts:1:1`);
  for (const sign of signs([step], { status: 500 })) troubles.add(sign, 0);
  const fix = expect.stringContaining('register both for the same scope') as string;
  expect(troubles.all()).toMatchObject([{ kind: 'failed service', where: 'IDiscounts.ts:1:1', fix }]);
});

it('an idle transaction is one without statements of its own, whatever others do', () => {
  const steps: Step[] = [
    { kind: 'begin', at: 0, span: 1 },
    statement(1, { span: 1, where: 'held.ts:1:1' }),
    { kind: 'begin', at: 10, span: 2 },
    statement(700, { span: 2 }),
    { kind: 'commit', at: 800, span: 2 },
    statement(900, { outside: true }),
    { kind: 'commit', at: 1300, span: 1 },
    { kind: 'begin', at: 3500, span: 3 },
    { kind: 'commit', at: 3510, span: 3 },
  ];
  expect(signs(steps, { outcome: 'committed' })).toMatchObject([
    { kind: 'idle transaction', where: 'held.ts:1:1', cause: 'A transaction was open for 1.3 s without a statement' },
  ]);
});

describe('a conflict', () => {
  const conflict: readonly Step[] = [
    statement(1, { span: 1, error: CONFLICT }),
    { kind: 'rollback', at: 2, span: 1, error: CONFLICT },
  ];
  const then = (sql: string): Step[] => [
    ...conflict,
    statement(3, { span: 2, sql }),
    { kind: 'commit', at: 4, span: 2 },
  ];

  it('was retried with success only where the same statement was committed', () => {
    const causeOf = (steps: readonly Step[], status: number): string | undefined =>
      signs(steps, { outcome: 'committed', failedAttempts: 1, status })[0]?.cause;
    expect(causeOf(then('SELECT a'), 200)).toMatch(/; committed after 1 rollback$/);
    expect(causeOf(then('INSERT INTO audits'), 503)).toContain('not retried with success, and responded 503');
  });

  it('is no refused COMMIT to be retried, where COMMIT found it and the retry succeeded', () => {
    const error = 'TransactionError AMBIT_TX_COMMIT_FAILED 40001 serialization failure';
    const refused = [statement(1, { span: 1 }), { kind: 'rollback', at: 2, span: 1, error } as const];
    const steps = [...refused, statement(3, { span: 2 }), { kind: 'commit', at: 4, span: 2 } as const];
    expect(signs(steps, { outcome: 'committed', failedAttempts: 1 })).toMatchObject([
      { kind: 'deadlock', where: 'a.ts:1:1', cause: expect.stringMatching(/; committed after 1 rollback$/) },
    ]);
  });
});

it('a refused COMMIT names the last statement of its own transaction', () => {
  const error = 'TransactionError AMBIT_TX_COMMIT_FAILED 23503 foreign key violation';
  const steps = [
    statement(1, { span: 1, where: 'order.ts:1:1' }),
    statement(2, { where: 'outside.ts:2:2', outside: true }),
    { kind: 'rollback', at: 3, span: 1, error } as const,
    statement(4, { span: 2, where: 'audit.ts:3:3' }),
  ];
  const found = signs(steps, { outcome: 'rolled back', status: 500 });
  expect(found).toMatchObject([{ kind: 'failed commit', where: 'order.ts:1:1' }]);
});

it('a pool without a free connection is one trouble for each route that has them, with and without one in the end', () => {
  const held = { heldBy: 'POST /payments', heldAt: 'bank.ts:1:1', doing: 'meanwhile 2 transactions had one' };
  const steps: Step[] = [
    { kind: 'connection', at: 0, took: 300, ...held },
    { kind: 'no connection', at: 400, took: 500, error: 'TransactionError AMBIT_TX_ACQUIRE_TIMEOUT', ...held },
  ];
  const found = signs(steps);
  expect(new Set(found.map((sign) => idOf({ ...sign, error: undefined }))).size).toBe(1);
  expect(found.map(({ cause, where }) => [cause, where])).toEqual([
    ['Waited 300 ms for a connection; meanwhile 2 transactions had one', 'bank.ts:1:1'],
    [
      'Got no connection after 500 ms (TransactionError AMBIT_TX_ACQUIRE_TIMEOUT); meanwhile 2 transactions had one',
      'bank.ts:1:1',
    ],
  ]);
});

describe('a response of 4xx', () => {
  it('is what the application has decided: after a refused statement, COMMIT or service', () => {
    const unique = statement(1, { span: 1, error: 'PostgresError 23505 unique violation' });
    const rollback = (error: string): Step => ({ kind: 'rollback', at: 2, span: 1, error });
    const back = { outcome: 'rolled back' } as const;
    expect(signs([unique, rollback('HttpError 409')], { status: 409, ...back })).toEqual([]);
    expect(kindsOf(signs([unique, rollback('HttpError 409')], { status: 500, ...back }))).toEqual(['failed statement']);
    const commit = rollback('TransactionError AMBIT_TX_COMMIT_FAILED 23503');
    expect(signs([statement(1, { span: 1 }), commit], { status: 422, ...back })).toEqual([]);
    const user = { kind: 'failed', at: 1, path: ['IUser'], error: 'Unauthorized 401' } as const;
    expect(signs([user], { status: 401, failures: 1 })).toEqual([]);
  });

  it('hides no conflict, no late statement and no missing key', () => {
    const steps = [
      statement(1, { error: CONFLICT }),
      statement(2, { error: 'TransactionError AMBIT_TX_FINISHED' }),
      { kind: 'failed', at: 3, path: ['IMailer'], error: 'ContainerError AMBIT_NOT_REGISTERED' } as const,
    ];
    expect(kindsOf(signs(steps, { status: 404 }))).toEqual(['failed service', 'deadlock', 'after commit']);
  });
});

describe('an aborted request', () => {
  const aborted = (steps: readonly Step[], more: Partial<RequestDetails> = {}): Sign[] =>
    signs(steps, { state: 'aborted', status: 0, ...more });

  it('names what it waited for when its client disconnected, else the line before', () => {
    const doing = 'it waited for maps.example, for 90 ms so far';
    const end: Step = { kind: 'aborted', at: 10 };
    expect(aborted([statement(1), { ...end, doing, where: 'maps.ts:3:3' }])).toMatchObject([
      { where: 'maps.ts:3:3', cause: expect.stringMatching(/: it waited for maps\.example, for 90 ms so far$/) },
    ]);
    expect(aborted([statement(1), end, statement(20, { where: 'later.ts:4:4' })])).toMatchObject([
      { where: 'a.ts:1:1', cause: expect.stringMatching(/only the line before is known$/) },
    ]);
  });

  it('is no conflict while its transaction may be retried, and no fault of a statement that was cancelled for it', () => {
    const conflict = statement(1, { span: 1, error: CONFLICT });
    expect(kindsOf(aborted([conflict], { open: 1 }))).toEqual(['aborted']);
    expect(kindsOf(aborted([conflict], { open: 0 }))).toEqual(['deadlock', 'aborted']);
    const cancelled = statement(1, { error: 'PostgresError 57014 canceled by a time limit or a user' });
    expect(kindsOf(aborted([cancelled], { outcome: 'rolled back' }))).toEqual(['aborted']);
  });
});

describe('advice', () => {
  const fixOf = (step: Step, more: Partial<RequestDetails> = {}): string | undefined => {
    const troubles = new Troubles();
    for (const sign of signs([step], { status: 500, ...more })) troubles.add(sign, 0);
    return troubles.all()[0]?.fix;
  };

  it('follows from the code of the error, and from the kind of a finding', () => {
    expect(fixOf(statement(1, { error: 'PostgresError 57014 canceled' }))).toContain('A time limit cancelled it');
    expect(fixOf(statement(1, { error: 'PostgresError 40001 serialization failure' }))).toContain('FOR UPDATE');
    expect(fixOf(statement(1, { error: CONFLICT }))).toContain('Lock rows in one order');
    const finding: Step = { kind: 'finding', at: 1, found: 'second-connection', where: 'a.ts:1:1' };
    expect(fixOf(finding, { status: 200 })).toContain('Pass the scope of the transaction');
  });
});

it('troubles are kept by cause, the newest first, up to a number', () => {
  const troubles = new Troubles();
  const sign = (where: string): Sign => ({ kind: 'slow', cause: 'Took 2 s', where });
  for (let i = 0; i < 300; i++) troubles.add(sign(`a.ts:${i}:1`), i, { id: i, name: `GET /${i}` });
  troubles.add(sign('a.ts:150:1'), 500, { id: 7, name: 'GET /seven' });
  const all = troubles.all();
  expect([all.length, troubles.occurrences]).toEqual([200, 301]);
  expect(all[0]).toMatchObject({
    count: 2,
    first: 150,
    last: 500,
    requests: [150, 7],
    routes: ['GET /150', 'GET /seven'],
  });
});
