import { describe, expect, it } from 'vitest';
import { idOf, type Sign, signsOf } from '../src/signs.js';
import { Troubles } from '../src/troubles.js';
import type { RequestDetails, Step } from '../src/wire.js';

const CONFLICT = 'PostgresError 40P01 deadlock detected';

/** A request with these steps: each may leave out what is of no matter. */
function requestWith(steps: readonly Step[], more: Partial<RequestDetails> = {}): RequestDetails {
  const statements = steps.filter(({ kind }) => kind === 'statement');
  const texts = statements.map(({ sql }) => sql);
  return {
    id: 1,
    method: 'GET',
    route: '/orders',
    arrived: 0,
    state: 'responded',
    status: 200,
    milliseconds: 100,
    failedAttempts: 0,
    open: 0,
    leaks: 0,
    findings: 0,
    failures: 0,
    statements: statements.length,
    statementMs: statements.reduce((sum, { took = 0 }) => sum + took, 0),
    alike: Math.max(0, ...texts.map((sql) => texts.filter((other) => other === sql).length)),
    waited: 0,
    texts: [],
    keys: [],
    trouble: true,
    spans: [],
    dropped: 0,
    ...more,
    steps: steps.toSorted((one, other) => one.at - other.at),
  };
}

const signs = (steps: readonly Step[], more?: Partial<RequestDetails>) => signsOf(requestWith(steps, more), 1000);
const statement = (at: number, more: Partial<Step> = {}): Step => ({
  kind: 'statement',
  at,
  sql: 'SELECT a',
  where: 'a.ts:1:1',
  ...more,
});
const times = (count: number, more: Partial<Step> = {}): Step[] =>
  Array.from({ length: count }, (_, i) => statement(i, more));

describe('N+1', () => {
  it('is no transaction that was retried', () => {
    const attempt = (span: number, end: Step['kind']): Step[] => [
      ...times(2, { span, at: span }),
      { kind: end, at: span + 0.5, span },
    ];
    const retried = [attempt(1, 'rollback'), attempt(2, 'rollback'), attempt(3, 'commit')].flat();
    expect(signs(retried, { failedAttempts: 2, outcome: 'committed' })).toEqual([]);
    const within = [...times(5, { span: 1 }), { kind: 'rollback', at: 9, span: 1 } as const];
    expect(signs(within, { status: 409 })).toMatchObject([{ kind: 'N+1' }]);
  });

  it('names the line that sent most of them, and says how many there are', () => {
    const two = [...times(2, { where: 'a.ts:1:1' }), ...times(4, { where: 'b.ts:2:2' })];
    expect(signs(two)).toMatchObject([
      {
        kind: 'N+1',
        where: 'b.ts:2:2',
        cause: 'One request sent the statement 6 times, from 2 lines, 4 of them from this one',
      },
    ]);
  });

  it('does not count what was sent after the response', () => {
    expect(signs([...times(3), ...times(3, { at: 5000 })])).toEqual([]);
  });

  it('says that there may be more than were kept', () => {
    expect(signs(times(80), { dropped: 4000 })).toMatchObject([
      { cause: 'One request sent the statement at least 80 times' },
    ]);
  });

  it('hides no time that it does not explain', () => {
    const kinds = signs(times(6, { took: 1 }), { milliseconds: 3000 }).map(({ kind }) => kind);
    expect(kinds).toEqual(['N+1', 'slow']);
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

  it('says which service took the time', () => {
    const created: Step = { kind: 'created', at: 0, took: 1400, key: 'IReport' };
    expect(signs([created], { milliseconds: 1500 })).toMatchObject([
      { cause: 'Took 1.5 s, of which 1.4 s in creating IReport' },
    ]);
  });
});

describe('a failed service', () => {
  it('without a line of its error has that of its definition', () => {
    const captive = 'ContainerError AMBIT_CAPTIVE_DEPENDENCY';
    const step: Step = { kind: 'failed', at: 1, path: ['IOffers', 'IDiscounts', 'ICampaigns'], error: captive };
    const troubles = new Troubles((key) => `${key}.ts:1:1`);
    for (const sign of signs([step], { status: 500 })) troubles.add(sign, 0);
    expect(troubles.all(0)).toMatchObject([{ kind: 'failed service', where: 'IDiscounts.ts:1:1' }]);
  });
});

describe('an idle transaction', () => {
  it('is one without statements of its own, whatever other transactions and connections do', () => {
    const steps: Step[] = [
      { kind: 'begin', at: 0, span: 1 },
      statement(1, { span: 1, where: 'held.ts:1:1' }),
      { kind: 'begin', at: 10, span: 2 },
      statement(700, { span: 2 }),
      { kind: 'commit', at: 800, span: 2 },
      statement(900, { outside: true }),
      { kind: 'commit', at: 1300, span: 1 },
    ];
    expect(signs(steps, { outcome: 'committed' })).toMatchObject([
      { kind: 'idle transaction', where: 'held.ts:1:1', cause: 'A transaction was open for 1.3 s without a statement' },
    ]);
  });

  it('is none of two that follow one another', () => {
    const steps: Step[] = [
      { kind: 'begin', at: 0, span: 1 },
      { kind: 'commit', at: 5, span: 1 },
      { kind: 'begin', at: 1500, span: 2 },
      { kind: 'commit', at: 1510, span: 2 },
    ];
    expect(signs(steps, { outcome: 'committed' })).toEqual([]);
  });
});

describe('a conflict', () => {
  const conflict: readonly Step[] = [
    statement(1, { span: 1, error: CONFLICT }),
    { kind: 'rollback', at: 2, span: 1, error: CONFLICT },
  ];

  it('was retried with success only where the same statement was committed', () => {
    const retried = [...conflict, statement(3, { span: 2 }), { kind: 'commit', at: 4, span: 2 } as const];
    expect(signs(retried, { outcome: 'committed', failedAttempts: 1 })).toMatchObject([
      { kind: 'deadlock', cause: expect.stringMatching(/; committed after 1 rollback$/) },
    ]);
    const audited = [
      ...conflict,
      statement(3, { span: 2, sql: 'INSERT INTO audits' }),
      { kind: 'commit', at: 4, span: 2 } as const,
    ];
    expect(signs(audited, { outcome: 'committed', failedAttempts: 1, status: 503 })).toMatchObject([
      { kind: 'deadlock', cause: expect.stringContaining('not retried with success, and responded 503') },
    ]);
  });

  it('is no refused COMMIT to be retried, where COMMIT found it and the retry succeeded', () => {
    const error = 'TransactionError AMBIT_TX_COMMIT_FAILED 40001 serialization failure';
    const steps = [
      statement(1, { span: 1 }),
      { kind: 'rollback', at: 2, span: 1, error } as const,
      statement(3, { span: 2 }),
      { kind: 'commit', at: 4, span: 2 } as const,
    ];
    expect(signs(steps, { outcome: 'committed', failedAttempts: 1 })).toMatchObject([
      { kind: 'deadlock', where: 'a.ts:1:1', cause: expect.stringMatching(/; committed after 1 rollback$/) },
    ]);
  });
});

describe('a refused COMMIT', () => {
  it('names a statement of its own transaction', () => {
    const error = 'TransactionError AMBIT_TX_COMMIT_FAILED 23503 foreign key violation';
    const steps = [
      statement(1, { span: 1, where: 'order.ts:1:1' }),
      statement(2, { where: 'outside.ts:2:2', outside: true }),
      { kind: 'rollback', at: 3, span: 1, error } as const,
      statement(4, { span: 2, where: 'audit.ts:3:3' }),
    ];
    expect(signs(steps, { outcome: 'rolled back', status: 500 })).toMatchObject([
      { kind: 'failed commit', where: 'order.ts:1:1' },
    ]);
  });
});

describe('a violated constraint that COMMIT found', () => {
  it('is named at the last statement that wrote its table', () => {
    const error =
      'TransactionError AMBIT_TX_COMMIT_FAILED 23503 foreign key violation of orders_voucher_fkey on orders';
    const steps = [
      statement(1, { span: 1, sql: 'INSERT INTO orders VALUES ($1)', where: 'order.ts:1:1' }),
      statement(2, { span: 1, sql: 'INSERT INTO order_lines VALUES ($1)', where: 'line.ts:2:2' }),
      { kind: 'rollback', at: 3, span: 1, error, table: 'orders' } as const,
    ];
    expect(signs(steps, { outcome: 'rolled back', status: 500 })).toMatchObject([
      { kind: 'failed commit', where: 'order.ts:1:1', sql: 'INSERT INTO orders VALUES ($1)' },
    ]);
  });
});

describe('a pool without a free connection', () => {
  const held = { name: 'POST /payments', milliseconds: 900, ended: false };

  it('is one trouble for each route that holds and what it waited for, with and without a connection in the end', () => {
    const heldBy = { ...held, where: 'bank.ts:1:1', doing: 'it waited 800 ms for bank.example at bank.ts:1:1' };
    const steps: Step[] = [
      { kind: 'connection', at: 0, took: 300, heldBy },
      { kind: 'no connection', at: 400, took: 500, error: 'TransactionError AMBIT_TX_ACQUIRE_TIMEOUT', heldBy },
    ];
    const found = signs(steps);
    expect(new Set(found.map(idOf)).size).toBe(1);
    expect(found.map(({ where }) => where)).toEqual(['bank.ts:1:1', 'bank.ts:1:1']);
    const doing = '; meanwhile POST /payments had a transaction open, which was open for 900 ms: it waited 800 ms';
    expect(found.map(({ cause }) => cause)).toEqual([
      expect.stringContaining(`Got no connection after 500 ms (TransactionError AMBIT_TX_ACQUIRE_TIMEOUT)${doing}`),
      expect.stringContaining(`Waited 300 ms for a connection${doing}`),
    ]);
  });

  it('is one trouble where it is only busy', () => {
    const steps = ['/a', '/b'].map((name, i): Step => ({
      kind: 'connection',
      at: i,
      took: 300,
      heldBy: { ...held, name, among: 40, milliseconds: 20 },
    }));
    const found = signs(steps);
    expect(new Set(found.map(idOf)).size).toBe(1);
    expect(found[0]).toMatchObject({
      cause: 'Waited 300 ms for a connection; meanwhile 40 transactions had one, the longest for 20 ms (/a)',
    });
  });
});

describe('a response of 4xx', () => {
  it('is what the application has decided: after a refused statement, COMMIT or service', () => {
    const unique = statement(1, { span: 1, error: 'PostgresError 23505 unique violation' });
    const rollback = { kind: 'rollback', at: 2, span: 1, error: 'HttpError 409' } as const;
    expect(signs([unique, rollback], { status: 409, outcome: 'rolled back' })).toEqual([]);
    expect(signs([unique, rollback], { status: 500, outcome: 'rolled back' })).toMatchObject([
      { kind: 'failed statement' },
    ]);
    const commit = {
      kind: 'rollback',
      at: 2,
      span: 1,
      error: 'TransactionError AMBIT_TX_COMMIT_FAILED 23503',
    } as const;
    expect(signs([statement(1, { span: 1 }), commit], { status: 422, outcome: 'rolled back' })).toEqual([]);
    const user = { kind: 'failed', at: 1, path: ['IUser'], error: 'Unauthorized 401' } as const;
    expect(signs([user], { status: 401, failures: 1 })).toEqual([]);
  });

  it('hides no conflict, no late statement and no missing key', () => {
    const steps = [
      statement(1, { error: CONFLICT }),
      statement(2, { error: 'TransactionError AMBIT_TX_FINISHED' }),
      { kind: 'failed', at: 3, path: ['IMailer'], error: 'ContainerError AMBIT_NOT_REGISTERED' } as const,
    ];
    const kinds = signs(steps, { status: 404 }).map(({ kind }) => kind);
    expect(kinds).toEqual(['failed service', 'deadlock', 'after commit']);
  });
});

describe('an aborted request', () => {
  const aborted = (steps: readonly Step[], more: Partial<RequestDetails> = {}): Sign[] => {
    const { status: _status, ...details } = requestWith(steps, { state: 'aborted', ...more });
    return signsOf(details, 1000);
  };

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

  it('is not said to be without a retry while its transaction may be retried', () => {
    const conflict = statement(1, { span: 1, error: CONFLICT });
    const kinds = (more: Partial<RequestDetails>) => aborted([conflict], more).map(({ kind }) => kind);
    expect(kinds({ open: 1 })).toEqual(['aborted']);
    expect(aborted([conflict])).toMatchObject([
      { kind: 'deadlock', cause: expect.stringMatching(/not retried with success, and its client had disconnected$/) },
      { kind: 'aborted' },
    ]);
    expect(kinds({ open: 0 })).toEqual(['deadlock', 'aborted']);
  });

  it('is one of many with one cause where many clients disconnect at one moment', () => {
    const sign = (where: string): Sign => ({ kind: 'aborted', cause: 'The client disconnected', where });
    const troubles = new Troubles();
    for (const [i, where] of ['a.ts:1:1', 'b.ts:2:2', 'c.ts:3:3'].entries())
      troubles.aborted(sign(where), i, { id: i, name: `GET /${i}` });
    troubles.aborted(sign('slow.ts:4:4'), 2000, { id: 9, name: 'GET /slow' });
    expect(troubles.all(5000)).toMatchObject([
      { where: 'slow.ts:4:4', count: 1 },
      { count: 3, cause: expect.stringMatching(/^3 clients disconnected at one moment/), requests: [0, 1, 2] },
    ]);
    // A time limit that they have in common is no moment.
    for (let i = 0; i < 3; i++) troubles.aborted(sign('slow.ts:4:4'), 9000 + i, { id: 20 + i, name: 'GET /slow' });
    expect(troubles.all(12_000)[0]).toMatchObject({ where: 'slow.ts:4:4', count: 4 });
  });

  it('is no fault of the statement that was cancelled for it', () => {
    const steps = [statement(1, { error: 'PostgresError 57014 canceled by a time limit or a user' })];
    expect(aborted(steps, { outcome: 'rolled back' }).map(({ kind }) => kind)).toEqual(['aborted']);
  });
});

it('a finding of the transaction check says what to do about its kind', () => {
  expect(signs([{ kind: 'finding', at: 1, found: 'second-connection', where: 'a.ts:1:1' }])).toMatchObject([
    { kind: 'finding', fix: expect.stringContaining('Pass the scope of the transaction') },
  ]);
});

it('of a captive dependency it is the lifetime that is wrong, and not the service at the end of the path', () => {
  const error = 'ContainerError AMBIT_CAPTIVE_DEPENDENCY';
  const failed = { kind: 'failed', at: 1, path: ['IOffers', 'IDiscounts', 'ICampaigns'], error } as const;
  expect(signs([failed], { status: 500 })).toMatchObject([
    { kind: 'failed service', service: 'IDiscounts', fix: expect.stringContaining('register both for the same scope') },
  ]);
});
