import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { currentScope } from '@ambit/container';
import { AmbitModule, Transactional } from '@ambit/nest';
import { type DatabasePool, type IConnection, transactionOf } from '@ambit/transaction';
import type { INestApplication } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containerWith, create, openDatabase, PLATFORMS, type Send, serve } from './support/app.js';
import { nestjsCls } from './support/nestjs-cls.js';
import { outcomesOf, type Place, type Scenario, type Subject } from './support/outcomes.js';

/** The response, its sender, and the rows that were stored. */
type Outcomes = readonly [handler: string, service: string];

interface Row extends Scenario {
  readonly ambit: Outcomes;
  /** The outcome with nestjs-cls, where it differs. */
  readonly cls?: Outcomes;
  readonly why?: string;
}

const HELD = 'here the response is part of the transaction';
const NOTHING_HALF = 'here what has not finished when the response is sent is rolled back';

const ROWS: readonly Row[] = [
  { what: 'returns', ambit: ['201, stored', '201, stored'] },
  { what: 'throws', fails: 'handler', ambit: ['409, nothing', '409, stored'] },
  { what: 'throws in the service', fails: 'service', ambit: ['409, nothing', '409, nothing'] },
  {
    what: 'throws, and an interceptor responds (`catchError`)',
    fails: 'handler',
    interceptor: 'catches it',
    ambit: ['201 of the interceptor, nothing', '201 of the interceptor, stored'],
  },
  {
    what: 'throws in the service, and an interceptor responds',
    fails: 'service',
    interceptor: 'catches it',
    ambit: ['201 of the interceptor, nothing', '201 of the interceptor, nothing'],
  },
  {
    what: 'throws, and an interceptor responds and calls a `@Transactional()` method',
    fails: 'handler',
    interceptor: 'catches it and stores',
    ambit: ['500, nothing', '201 of the interceptor, stored and its row'],
    cls: ['201 of the interceptor, its row', '201 of the interceptor, stored and its row'],
    why: 'here nothing of a handler that has failed joins its transaction or commits by itself: the next line, or a filter',
  },
  {
    what: 'the same, with `requires-new`',
    fails: 'handler',
    interceptor: 'catches it and stores apart',
    ambit: ['201 of the interceptor, its row', '201 of the interceptor, stored and its row'],
  },
  {
    what: 'throws once in the service, and an interceptor tries again (`retry()`)',
    fails: 'service',
    isOnce: true,
    interceptor: 'tries again',
    ambit: ['500, nothing', '201, the second try'],
    cls: ['201, the second try', '201, the second try'],
    why: 'here the response belongs to one transaction: put `retries` on the method of a provider',
  },
  {
    what: 'throws once, and an interceptor tries again',
    fails: 'handler',
    isOnce: true,
    interceptor: 'tries again',
    ambit: ['500, nothing', '201, both tries'],
    cls: ['201, the second try', '201, both tries'],
    why: 'as in the line above',
  },
  {
    what: 'takes too long (`timeout`)',
    isSlow: true,
    interceptor: 'waits 20 ms',
    ambit: ['500, nothing', '500, nothing'],
    cls: ['500, stored', '500, stored'],
    why: NOTHING_HALF,
  },
  {
    what: 'takes too long, and the interceptor responds',
    isSlow: true,
    interceptor: 'waits 20 ms, then responds',
    ambit: ['201 of the interceptor, nothing', '201 of the interceptor, nothing'],
    cls: ['201 of the interceptor, stored', '201 of the interceptor, stored'],
    why: NOTHING_HALF,
  },
  {
    what: 'returns, and an interceptor throws (`map`)',
    interceptor: 'throws behind it',
    ambit: ['409, nothing', '409, stored'],
    cls: ['409, stored', '409, stored'],
    why: HELD,
  },
  {
    what: 'is not called: an interceptor has a cached result',
    interceptor: 'has it in a cache',
    ambit: ['201 of the interceptor, nothing', '201 of the interceptor, nothing'],
  },
  ...([200, 409, 500] as const).map((filter) => ({
    what: `throws, and a filter responds with ${filter}`,
    fails: 'handler' as const,
    filter,
    ambit: [`${filter} of the filter, nothing`, `${filter} of the filter, stored`] as const,
  })),
  {
    what: 'throws, and a filter calls a `@Transactional()` method',
    fails: 'handler',
    filter: 'that stores',
    ambit: ['409 of the filter, its row', '409 of the filter, stored and its row'],
  },
  {
    what: 'returns, and `COMMIT` fails',
    fails: 'COMMIT',
    ambit: ['500, nothing', '500, nothing'],
  },
  {
    what: 'returns, `COMMIT` fails, and a filter responds with 200',
    fails: 'COMMIT',
    filter: 200,
    ambit: ['200 of the filter, nothing', '200 of the filter, nothing'],
  },
  {
    what: 'returns, `COMMIT` fails, and a filter calls a `@Transactional()` method',
    fails: 'COMMIT',
    filter: 'that stores',
    ambit: ['409 of the filter, its row', '409 of the filter, its row'],
  },
];

const STORED: Readonly<Record<string, string>> = {
  '': 'nothing',
  'order 1': 'stored',
  'order 2': 'the second try',
  'order 1, order 2': 'both tries',
  audit: 'its row',
  'order 1, audit': 'stored and its row',
};

function ambitOver(pool: DatabasePool): Subject {
  return {
    module: () => AmbitModule.forRoot({ container: containerWith(pool) }),
    transactional: (propagation) => Transactional(propagation && { propagation }),
    query: async (sql, params) => {
      const scope = currentScope();
      return (transactionOf(scope) ? scope.resolve<IConnection>('IConnection') : pool).query(sql, params);
    },
  };
}

let pool: DatabasePool;
let stored: () => Promise<string[]>;
let outcomes: ReturnType<typeof outcomesOf>;
const apps: INestApplication[] = [];
/** With a filter, and without one. */
let send: { readonly true: Send; readonly false: Send };

async function start(
  subjectOver: (pool: DatabasePool) => Subject,
  place: Place,
  adapter: (typeof PLATFORMS)[number]['adapter'],
): Promise<void> {
  ({ pool, stored } = await openDatabase());
  await pool.query('CREATE TABLE products (id TEXT PRIMARY KEY)');
  await pool.query('CREATE TABLE lines (product TEXT REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED)');
  outcomes = outcomesOf(subjectOver(pool), place);
  const sendWith = async (filter: boolean): Promise<Send> => {
    const app = await create(outcomes.rootOf(filter), adapter);
    apps.push(app);
    return serve(app);
  };
  send = { true: await sendWith(true), false: await sendWith(false) };
}

async function stop(): Promise<void> {
  for (const app of apps.splice(0)) await app.close();
  await pool.close();
}

async function outcomeOf(scenario: Scenario): Promise<string> {
  await pool.query('DELETE FROM orders');
  outcomes.begin(scenario);
  const { status, body } = await send[`${scenario.filter !== undefined}`]('POST', '/outcomes');
  await expect.poll(() => outcomes.isOver(), { interval: 1 }).toBe(true);
  const { by = '' } = body as { by?: string };
  const rows = (await stored()).join(', ');
  return `${status}${['interceptor', 'filter'].includes(by) ? ` of the ${by}` : ''}, ${STORED[rows] ?? rows}`;
}

describe.each(PLATFORMS)('on $platform', ({ adapter }) => {
  describe.each<[Place, 0 | 1]>([
    ['handler', 0],
    ['class', 0],
    ['both', 0],
    ['service', 1],
  ])('with @Transactional() on the %s, a handler', (place, column) => {
    beforeAll(() => start(ambitOver, place, adapter));
    afterAll(stop);
    it.each(ROWS)('that $what', async ({ ambit, ...scenario }) => {
      expect(await outcomeOf(scenario)).toBe(ambit[column]);
    });
    it('that throws by a promise of another library, and an interceptor responds', async () => {
      const { ambit, ...scenario } = ROWS.find(({ interceptor }) => interceptor === 'catches it') as Row;
      expect(await outcomeOf({ ...scenario, isForeign: true })).toBe(ambit[column]);
    });
  });
});

// It is installed beside NestJS 12 by `npm run check -- nest-versions`.
describe.runIf(process.env['NESTJS_CLS'])('with nestjs-cls', () => {
  describe.each<[Place, 0 | 1]>([
    ['handler', 0],
    ['service', 1],
  ])('with its @Transactional() on the %s, a handler', (place, column) => {
    beforeAll(async () => start(await nestjsCls(), place, PLATFORMS[0].adapter));
    afterAll(stop);
    it.each(ROWS)('that $what', async ({ ambit, cls = ambit, ...scenario }) => {
      expect(await outcomeOf(scenario)).toBe(cls[column]);
    });
  });
});

/** `OUTCOMES=write` replaces the table, before `oxfmt docs/coming-from/transactional-decorators.md`. */
const GUIDE = join(import.meta.dirname, '../../../docs/coming-from/transactional-decorators.md');
const MARKED = /(?<=outcomes: begin -->\n)[^]*(?=\n<!-- outcomes: end)/;

it('is a table of the guide', () => {
  const head = ['what happens', 'on the handler', 'on the service', 'with nestjs-cls'];
  const cells = ROWS.map((row) => [row.what, ...row.ambit, withCls(row)]);
  const table = [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
  const text = readFileSync(GUIDE, 'utf8');
  if (process.env['OUTCOMES'] === 'write') writeFileSync(GUIDE, text.replace(MARKED, `\n${table}\n`));
  const read = (markdown = ''): string =>
    markdown
      .replaceAll(/ *\| */g, '|')
      .replaceAll(/-{3,}/g, '---')
      .trim();
  expect(read(MARKED.exec(text)?.[0])).toBe(read(table));
});

function withCls({ ambit, cls = ambit, why }: Row): string {
  const differs = ['handler', 'service'].flatMap((place, i) => (cls[i] === ambit[i] ? [] : `${place}: ${cls[i]}`));
  return why ? `${differs.join('; ')} (${why})` : 'the same';
}
