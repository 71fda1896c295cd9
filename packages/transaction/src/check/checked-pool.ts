import type { AcquireOptions, BeginOptions, IDatabasePool, IPooledConnection } from '../contract.js';
import type { Clock } from '../clock.js';
import { withCallersStack } from '../errors.js';
import { type AroundCheck, CHECKED } from '../events.js';
import { CallStack, TransactionCheckError } from './finding.js';
import type { Plans } from './plans.js';
import type { Contexts, Hold, Rules } from './rules.js';

type Run = (sql: string, ...rest: unknown[]) => Promise<unknown>;
type Methods = Readonly<Record<string | symbol, unknown>>;

/** The methods that run a statement, where a pool or a connection has them. */
const STATEMENTS = ['query', 'execute'] as const;

export interface CheckedBy {
  readonly rules: Rules;
  readonly contexts: Contexts;
  readonly clock: Clock;
  readonly plans: Plans | undefined;
}

/** The pool, with a check before each statement and each connection. Everything else is the pool's own. */
export function checkedPool<P extends IDatabasePool>(pool: P, by: CheckedBy): P {
  const { rules, contexts, plans } = by;
  const getConnection = async (options?: AcquireOptions): Promise<IPooledConnection> => {
    const hold = rules.acquire();
    if (hold instanceof TransactionCheckError) throw hold;
    try {
      return checkedConnection(await contexts.leave(contexts.enterDriver(), pool.getConnection(options)), {
        hold,
        ...by,
      });
    } catch (error) {
      hold.release();
      throw error;
    }
  };
  const checkedRun = (run: Run): Run =>
    function checked(sql, ...rest) {
      const refusal = isText(sql) ? rules.statementOnPool(sql) : undefined;
      if (refusal) return Promise.reject(refusal);
      // Its own connection may be the last one.
      const taken = plans && !contexts.openHold && ((): Promise<void> => plans.takeOn(pool, [sql, rest[0]]));
      return contexts.leave(contexts.enterDriver(), taken ? afterwards(run(sql, ...rest), taken) : run(sql, ...rest));
    };
  const around: AroundCheck = { below: pool, again: (inner) => checkedPool(inner, by) };
  return withMethods(pool, { getConnection, ...statementsOf(pool, checkedRun), [CHECKED]: around });
}

interface Checked extends CheckedBy {
  readonly hold: Hold;
}

function checkedConnection(
  connection: IPooledConnection,
  { hold, rules, contexts, clock, plans }: Checked,
): IPooledConnection {
  const checkedRun = (run: Run): Run =>
    async function checked(sql, ...rest) {
      const stack = new CallStack();
      const refusal = isText(sql) ? rules.statement(hold, sql, stack) : undefined;
      if (refusal) throw refusal;
      hold.statementStarts(stack);
      try {
        const given = await contexts.leave(contexts.enterDriver(), run(sql, ...rest));
        rules.ran(hold, { sql, stack, given });
        if (plans) await contexts.leave(contexts.enterDriver(), plans.take(connection, hold.isOpen, [sql, rest[0]]));
        return given;
      } catch (error) {
        throw withCallersStack(error);
      } finally {
        hold.statementSettles(clock.now());
      }
    };
  const close = (): void => {
    rules.quiet(hold);
    hold.close();
  };
  return withMethods(connection, {
    ...statementsOf(connection, checkedRun),
    beginTransaction: async (options?: BeginOptions) => {
      await contexts.leave(contexts.enterDriver(), connection.beginTransaction(options));
      hold.open(clock.now(), connection.synchronous !== true);
    },
    commit: async () => {
      close();
      rules.committing(hold);
      if (hold.failures.length === 0) return contexts.leave(contexts.enterDriver(), connection.commit());
      hold.rolledBack();
      await contexts.leave(contexts.enterDriver(), connection.rollback());
      throw new TransactionCheckError(hold.failures.flatMap(({ findings }) => findings));
    },
    rollback: async () => {
      close();
      hold.rolledBack();
      await contexts.leave(contexts.enterDriver(), connection.rollback());
    },
    release: (destroy?: boolean | Error) => {
      hold.release();
      return contexts.leave(contexts.enterDriver(), connection.release(destroy));
    },
  });
}

async function afterwards<T>(running: Promise<T>, work: () => Promise<void>): Promise<T> {
  const result = await running;
  await work();
  return result;
}

/** The pool itself refuses everything else. */
function isText(sql: unknown): boolean {
  return typeof sql === 'string';
}

function statementsOf(owner: object, checkedRun: (run: Run) => Run): Methods {
  const methods = owner as Record<(typeof STATEMENTS)[number], Run>;
  const present = STATEMENTS.filter((name) => name in owner);
  // Looked up at each call, as it would be without the check: a test may have replaced it.
  return Object.fromEntries(present.map((name) => [name, checkedRun((sql, ...rest) => methods[name](sql, ...rest))]));
}

/** The object with some methods replaced. Its own methods and getters see itself, because they may have private fields. */
function withMethods<T extends object>(target: T, methods: Methods): T {
  return new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(methods, name)) return methods[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' && name !== 'constructor' ? value.bind(target) : value;
    },
  });
}
