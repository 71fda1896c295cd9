import type { Transaction } from '@ambit/transaction';
import { withOutcomeOf } from '../errors.js';
import { beginAs, type PrismaTransaction } from './adapter.js';

/** Does a call on the target, once there is one. */
type Call = (target: object) => unknown;
type Send = (call: Call) => Promise<unknown>;
type AnyFunction = (...args: never[]) => unknown;

/**
 * An object that looks like a client of Prisma before there is one: `client.user.findMany()` returns a promise that does the
 * same call on the client when it is awaited, as Prisma's own promises do.
 */
function clientThat(send: Send, overrides: object): object {
  return new Proxy(overrides, {
    get(_, name) {
      if (Object.hasOwn(overrides, name)) return Reflect.get(overrides, name);
      if (!isName(name)) return undefined;
      return name.startsWith('$') ? method(send, (client) => client, name) : model(send, name);
    },
  });
}

function model(send: Send, modelName: string): object {
  const find: Call = (client) => Reflect.get(client, modelName);
  return new Proxy({}, { get: (_, name) => (isName(name) ? method(send, find, name) : undefined) });
}

function method(send: Send, find: Call, name: string): (...args: never[]) => object {
  return (...args) =>
    promiseOf(send, (client) => {
      const owner = find(client) as Record<string, AnyFunction>;
      return owner[name]?.(...args);
    });
}

/** What a call returns. It has relations as methods, too: `client.user.findUnique({ ... }).posts()`. */
function promiseOf(send: Send, call: Call): object {
  let sent: Promise<unknown> | undefined;
  const promise = (): Promise<unknown> => (sent ??= send(call));
  const methods: object = {
    // oxlint-disable-next-line unicorn/no-thenable
    then: (...args: Parameters<Promise<unknown>['then']>) => promise().then(...args),
    catch: (...args: Parameters<Promise<unknown>['catch']>) => promise().catch(...args),
    finally: (...args: Parameters<Promise<unknown>['finally']>) => promise().finally(...args),
    [Symbol.toStringTag]: 'PrismaPromise',
  };
  return new Proxy(methods, {
    get: (_, name) => {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      return isName(name) ? method(send, call, name) : undefined;
    },
  });
}

/** Not a symbol; and a client or a model is no promise. */
function isName(name: PropertyKey): name is string {
  return typeof name === 'string' && name !== 'then';
}

/** The members of a client that `prisma generate` has made. */
export interface PrismaClientLike {
  /** Runs work in a transaction of Prisma. */
  $transaction(...args: never[]): Promise<unknown>;
}

/** A client of Prisma without what concerns connections. */
export type TransactionClient<Client> = Omit<Client, '$connect' | '$disconnect' | '$on' | '$use' | '$extends'>;

type Begin = (work: (client: object) => Promise<void>, limits: object) => Promise<void>;

/** The longest time that a timer can have. The limits of `runInTransaction()` apply, not Prisma's. */
const NO_LIMIT = { maxWait: 2 ** 31 - 1, timeout: 2 ** 31 - 1 };

export function transactionClient<Client extends PrismaClientLike>(
  transaction: Transaction,
  prisma: Client,
): TransactionClient<Client> {
  const state: PrismaTransaction = { transaction, failure: undefined };
  let opened: Promise<object> | undefined;

  async function send(call: (client: object) => unknown): Promise<unknown> {
    // Refused, with the reason.
    if (transaction.state !== 'open') await transaction.connection.query('SELECT 1');
    try {
      return await call(await (opened ??= open(state, prisma)));
    } catch (error) {
      throw withCause(error, state.failure);
    }
  }

  /** Prisma's own would let statements of others into the nested transaction. */
  function nested(work: Promise<unknown>[] | ((client: object) => Promise<unknown>)): Promise<unknown> {
    return transaction.runNested(() => (typeof work === 'function' ? work(client) : inTurn(work)), {});
  }

  const client = clientThat(send, { $transaction: nested });
  return client as TransactionClient<Client>;
}

/** Prisma's promises send their query when they are awaited. */
async function inTurn(queries: readonly Promise<unknown>[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const query of queries) results.push(await query);
  return results;
}

/** Prisma calls this a transaction for as long as ours is open; it sends nothing for that. */
function open(state: PrismaTransaction, prisma: PrismaClientLike): Promise<object> {
  return new Promise((resolve, reject) => {
    const begin = prisma.$transaction.bind(prisma) as unknown as Begin;
    const work = (client: object): Promise<void> => {
      resolve(client);
      return new Promise((close) => state.transaction.onWhole('afterEnd', () => close()));
    };
    beginAs(state, () => begin(work, NO_LIMIT)).catch(reject);
  });
}

/** Prisma's errors have codes of their own, and lack the database's: `runInTransaction()` retries by that. */
function withCause(error: unknown, cause: unknown): unknown {
  if (!(error instanceof Error) || cause === undefined || error === cause || error.cause !== undefined) return error;
  return withOutcomeOf(cause, Object.assign(error, { cause }));
}
