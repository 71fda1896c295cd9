import { type Container, currentScope } from '@ambit/container';
import { InScope, Transactional, type TransactionalOptions } from '@ambit/nest';
import { type DatabasePool, type IConnection, transactionOf } from '@ambit/transaction';
import { poolOver, POSTGRES_LANGUAGE } from '@ambit/transaction/extension';
import { transactional } from '@ambit/transaction/transactional';
import { type INestApplicationContext, Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { containerWith, QUIET, rootModule } from './support/app.js';

/*
 * The cases of the suite of `@nestjs-cls/transactional` 3.3, one after the other: what each has sent to the database. They are called in a
 * scope, as theirs are called in none; docs/coming-from/transactional-decorators.md says where the outcome differs, and why.
 */

type Body = () => Promise<unknown>;
type Terms = Omit<TransactionalOptions, 'onError' | 'onSecondResponse' | 'rollbackOn' | 'readOnly'>;

/** Short words for statements, as the list of a case has them. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^SELECT (\d+)$/, '$1'],
  [/^BEGIN .*SERIALIZABLE.*/, 'SERIALIZABLE'],
  [/^SAVEPOINT .*/, 'SAVE'],
  [/^RELEASE .*/, 'KEEP'],
  [/^ROLLBACK TO .*/, 'UNDO'],
];

/** A pool that remembers what was sent in each use of a connection. */
class Log {
  readonly uses: string[][] = [];
  readonly pool: DatabasePool = poolOver(
    {
      language: POSTGRES_LANGUAGE,
      max: 8,
      connect: () => {
        const use: string[] = [];
        this.uses.push(use);
        return { isLost: false, send: (sql) => statement(use, sql), release: () => undefined };
      },
      close: async () => undefined,
    },
    {},
  );

  /** Each use in its order; the uses that are open at once have none. */
  get sent(): string[] {
    return this.uses.map((use) => use.join(' ')).toSorted();
  }
}

function statement(use: string[], sql: string) {
  use.push(WORDS.reduce((text, [pattern, word]) => text.replace(pattern, word), sql));
  return { rows: [{ query: sql }] as never[], rowCount: 1, command: sql.split(' ', 1)[0] ?? '', fields: [] };
}

@Injectable()
class Entry {
  @InScope()
  run(body: Body): Promise<unknown> {
    return body();
  }
}

/** The names of a second database. */
const OTHER = { pool: 'IOtherPool', connection: 'IOtherConnection' } as const;

/** As a repository does: in the transaction of this scope, or else by itself. */
async function select(number: number, { pool = 'IDatabasePool', connection = 'IConnection' }: Terms = {}) {
  const scope = currentScope();
  const database = transactionOf(scope, { connection }) ? connection : pool;
  return (await scope.resolve<IConnection>(database).query(`SELECT ${number}`))[0];
}

/** Calls a method with the decorator. */
async function decorated(terms: Terms, body: Body): Promise<unknown> {
  class Service {
    @Transactional(terms)
    async call(): Promise<unknown> {
      return body();
    }
  }
  return new Service().call();
}

/** As `txHost.withTransaction()`. */
const started = (terms: Terms, body: Body): Promise<unknown> =>
  transactional(body, { propagation: 'required', ...terms })();

const inTurn =
  (numbers: readonly number[], terms?: Terms): Body =>
  async () => {
    const selected: unknown[] = [];
    for (const number of numbers) selected.push(await select(number, terms));
    return selected;
  };

let log: Log;
let other: Log;
let app: INestApplicationContext;
let inScope: (body: Body) => Promise<unknown>;

beforeEach(async () => {
  log = new Log();
  other = new Log();
  const container: Container = containerWith(log.pool);
  container.register(OTHER.pool, () => other.pool);
  app = await NestFactory.createApplicationContext(rootModule({ container }, { providers: [Entry] }), QUIET);
  inScope = (body) => app.get(Entry).run(body);
});
afterEach(() => app.close());

describe.each<[spec: string, Terms]>([
  ['transactional.spec', {}],
  ['named-connection.spec', OTHER],
])('%s', (_spec, database) => {
  const sent = (): string[] => (database === OTHER ? other : log).sent;

  describe.each([
    ['the decorator', decorated],
    ['a function', started],
  ])('by %s', (_how, call) => {
    it('starts a transaction, and one with options', async () => {
      const selected = await inScope(() => call(database, inTurn([1, 2], database)));
      expect(selected).toEqual([{ query: 'SELECT 1' }, { query: 'SELECT 2' }]);
      await inScope(() => call({ ...database, isolation: 'serializable' }, inTurn([1, 2], database)));
      expect(sent()).toEqual(['BEGIN 1 2 COMMIT', 'SERIALIZABLE 1 2 COMMIT']);
    });
  });

  it('starts two in parallel, beside statements in none', async () => {
    const work = (number: number): Body => inTurn([number], database);
    const all: Body = () => Promise.all([started(database, work(7)), work(9)(), decorated(database, work(8))]);
    expect(await inScope(all)).toEqual([7, 9, 8].map((number) => [{ query: `SELECT ${number}` }]));
    await inScope(inTurn([5, 6], database));
    expect(sent()).toEqual(['5', '6', '9', 'BEGIN 7 COMMIT', 'BEGIN 8 COMMIT']);
  });
});

describe('propagation.spec', () => {
  const REFUSED = 'AMBIT_TX_ALREADY_OPEN';

  it.each<[propagation: Terms['propagation'], alone: string[], within: string[], refused?: 'alone' | 'within']>([
    [undefined, ['1', 'BEGIN 2 COMMIT'], ['BEGIN 1 2 COMMIT']],
    ['required', ['1', 'BEGIN 2 COMMIT'], ['BEGIN 1 2 COMMIT']],
    ['requires-new', ['1', 'BEGIN 2 COMMIT'], ['BEGIN 1 COMMIT', 'BEGIN 2 COMMIT']],
    ['not-supported', ['1', '2'], ['2', 'BEGIN 1 COMMIT']],
    ['mandatory', ['1'], ['BEGIN 1 2 COMMIT'], 'alone'],
    ['never', ['1', '2'], ['BEGIN 1 ROLLBACK'], 'within'],
    ['supports', ['1', '2'], ['BEGIN 1 2 COMMIT']],
    ['nested', ['1', 'BEGIN 2 COMMIT'], ['BEGIN 1 SAVE 2 KEEP COMMIT']],
  ])('%s, without a transaction and within one', async (propagation, alone, within, refused) => {
    const work: Body = async () => {
      await select(1);
      await decorated({ ...(propagation && { propagation }) }, inTurn([2]));
    };
    const outcomeOf = (body: Body): Promise<unknown> =>
      inScope(body).then(
        () => undefined,
        (error: unknown) => (error as { code: string }).code,
      );
    expect(await outcomeOf(work)).toBe(refused === 'alone' ? REFUSED : undefined);
    expect(log.sent).toEqual(alone);
    log.uses.length = 0;
    expect(await outcomeOf(() => decorated({}, work))).toBe(refused === 'within' ? REFUSED : undefined);
    expect(log.sent).toEqual(within);
  });

  it('rolls back to the savepoint where a nested one throws', async () => {
    const fails: Body = async () => {
      await select(19);
      throw new Error('a part');
    };
    const work: Body = async () => {
      await select(18);
      await decorated({ propagation: 'nested' }, fails).catch(() => undefined);
      await select(20);
    };
    await inScope(() => decorated({}, work));
    expect(log.sent).toEqual(['BEGIN 18 SAVE 19 UNDO KEEP 20 COMMIT']);
  });

  const isolation = 'serializable';

  it('goes by the options of several in one another', async () => {
    const inner: Body = async () => {
      await decorated({ propagation: 'requires-new' }, inTurn([12]));
      await decorated({ isolation }, inTurn([13]));
      await select(14);
      await decorated({ propagation: 'mandatory', isolation }, inTurn([15]));
      await decorated({ propagation: 'supports', isolation }, inTurn([16]));
      throw new Error('Bad thing');
    };
    const outer: Body = async () => {
      await select(10);
      await decorated({ propagation: 'required', isolation }, inTurn([11]));
      await started({ propagation: 'requires-new', isolation }, inner);
    };
    await expect(inScope(() => decorated({ propagation: 'not-supported', isolation }, outer))).rejects.toThrow('Bad');
    expect(log.sent).toEqual(['10', 'BEGIN 12 COMMIT', 'SERIALIZABLE 11 COMMIT', 'SERIALIZABLE 13 14 15 16 ROLLBACK']);
  });

  it('refuses an isolation that the open transaction has not, where theirs is ignored with a warning', async () => {
    const joined = inScope(() => decorated({}, () => decorated({ isolation }, inTurn([1]))));
    await expect(joined).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
  });
});

describe('multiple-connections.spec and inject-transaction.spec', () => {
  it.each([
    ['the decorator', decorated],
    ['a function', started],
  ])('two databases have transactions of their own, by %s', async (_how, call) => {
    await inScope(() => Promise.all([call({}, inTurn([1])), call(OTHER, inTurn([2], OTHER))]));
    expect([log.sent, other.sent]).toEqual([['BEGIN 1 COMMIT'], ['BEGIN 2 COMMIT']]);
  });

  it('a transaction of one does not concern the other', async () => {
    const work: Body = async () => {
      await select(5);
      await select(6, OTHER);
      await decorated(OTHER, inTurn([7], OTHER));
    };
    await inScope(() => decorated({}, work));
    expect([log.sent, other.sent]).toEqual([['BEGIN 5 COMMIT'], ['6', 'BEGIN 7 COMMIT']]);
  });

  it('requires-new begins another one of the same database', async () => {
    const apart = () => decorated({ ...OTHER, propagation: 'requires-new' }, inTurn([1], OTHER));
    await inScope(() => decorated(OTHER, apart));
    expect(other.sent).toEqual(['BEGIN 1 COMMIT', 'BEGIN COMMIT']);
  });
});

describe('transactional.decorator.spec', () => {
  it('keeps what other decorators have said of the method, as metadata and as a property', async () => {
    const mark = (_target: object, _name: string, { value }: PropertyDescriptor): void => {
      Reflect.defineMetadata('mark', 'metadata', value as object);
      (value as { mark: string }).mark = 'property';
    };
    class Service {
      @InScope()
      @Transactional({ isolation: 'serializable' })
      @mark
      async call(): Promise<void> {}
    }
    const { call } = Service.prototype;
    expect([Reflect.getMetadata('mark', call), (call as { mark?: string }).mark]).toEqual(['metadata', 'property']);
  });
});

describe('nested-non-awaited-transaction.spec', () => {
  it('what is not awaited is refused when the transaction is over', async () => {
    let child: Promise<unknown> | undefined;
    let goOn = (): void => undefined;
    const parent: Body = async () => {
      await select(1);
      const late: Body = async () => {
        await select(2);
        await new Promise<void>((resolve) => (goOn = resolve));
        await select(3);
      };
      child = decorated({}, late);
      child.catch(() => undefined);
      await expect.poll(() => log.sent).toEqual(['BEGIN 1 2']);
    };
    await inScope(() => decorated({}, parent));
    goOn();
    await expect(child).rejects.toMatchObject({ code: 'AMBIT_DISPOSED' });
    expect(log.sent).toEqual(['BEGIN 1 2 COMMIT']);
  });
});

it('outside of a scope a transaction is refused, where theirs opens a context', async () => {
  await expect(decorated({}, inTurn([1]))).rejects.toMatchObject({ code: 'AMBIT_NO_SCOPE' });
});
