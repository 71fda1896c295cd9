import { EventEmitter } from 'node:events';
import * as library from 'pg';
import type { CustomTypesConfig, PoolClient, QueryConfig, QueryResult, TypeOverrides } from 'pg';
import { type IConnection, type IDatabasePool, splitStatements, TransactionError } from '@ambit/transaction';
import { executeOn, isTransactionControl, withCallersStack } from '@ambit/transaction/extension';
import { refusalOf } from '../errors.js';
import { StatementTransaction } from './statement-transaction.js';
import { executorOf, ownTransaction, type Target, targetOf } from '../target.js';

/**
 * Older versions of `pg` have the default export only, and what a compiler to CommonJS has made of this without `esModuleInterop` finds none.
 */
const pg = (library as { readonly default?: typeof library.default }).default ?? library;

type Result = Pick<QueryResult, 'rows' | 'rowCount' | 'command' | 'fields'>;
type Callback = (error: unknown, result?: Result | Result[]) => void;

interface Config extends QueryConfig<unknown[]> {
  readonly rowMode?: 'array';
  readonly callback?: Callback;
}

/**
 * A client of node-postgres (`pg`) on the connection of a transaction scope, for code and libraries that take a `Client` or a
 * `PoolClient`: pgtyped, zapatos, DBOS's `enqueueInTransaction()` and others. Its statements are those of the transaction. BEGIN, COMMIT
 * and ROLLBACK that are sent through it begin, keep and undo a nested run; a COMMIT or ROLLBACK without a BEGIN through the same client is
 * refused with `AMBIT_TX_CONTROL_STATEMENT`. `release()` and `end()` do nothing. After the transaction has completed, every query rejects
 * with `AMBIT_TX_FINISHED`.
 *
 * On a pool, such as `IDatabasePool`: each query runs by itself, on any connection, and BEGIN is refused: `runInTransaction()`
 * begins transactions.
 *
 * What the database refuses is a `DatabaseError` of `pg`. Values have the types that `pg` gives, also over the pool of another driver.
 * Cursors and streams (`pg-cursor`, `pg-query-stream`) are refused with `AMBIT_TX_UNSUPPORTED`.
 *
 * @param database - the `IConnection` of a transaction scope, or a pool, on PostgreSQL
 * @returns a client, cheap enough to create per transaction; each has one nested transaction at a time
 * @throws `TransactionError` `AMBIT_OPTION`: `database` is neither
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { pgClientOn } from '@ambit/orm/pg';
 *
 * async function take(requestScope: IContainer, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const client = pgClientOn(scope.resolve<IConnection>('IConnection'));
 *     await client.query('UPDATE stock SET level = level - 1 WHERE product = $1', [product]);
 *   });
 * }
 * ```
 */
export function pgClientOn(database: IConnection | IDatabasePool): PoolClient {
  return new ScopedPgClient(targetOf(database, 'pgClientOn()')) as unknown as PoolClient;
}

/**
 * A client of `pg` whose connection is that of a transaction, or any of a pool. It is made of no `Client` of `pg`, which would
 * open a socket. A class of this name is not taken for a `Pool` by libraries that look at names.
 */
class ScopedPgClient extends EventEmitter {
  readonly escapeIdentifier = pg.Client.prototype.escapeIdentifier;
  readonly escapeLiteral = pg.Client.prototype.escapeLiteral;
  readonly #target: Target;
  readonly #nested: StatementTransaction | undefined;
  #overrides: TypeOverrides | undefined = undefined;

  constructor(target: Target) {
    super();
    this.#target = target;
    this.#nested = target.transaction && new StatementTransaction(target.transaction);
  }

  query(
    first: string | Config,
    second?: unknown[] | Callback,
    third?: Callback,
  ): Promise<Result | Result[]> | undefined {
    if (typeof first === 'object' && 'submit' in first) throw cannotSubmit();
    const config = typeof first === 'string' ? { text: first } : first;
    const values = Array.isArray(second) ? second : config.values;
    const callback = typeof second === 'function' ? second : (third ?? config.callback);
    const result = this.#run(config, values);
    if (!callback) return result;
    // An error of the callback is no rejection of the query.
    result.then(
      (value) => process.nextTick(callback, null, value),
      (error: unknown) => process.nextTick(callback, error),
    );
    return undefined;
  }

  setTypeParser(...args: Parameters<TypeOverrides['setTypeParser']>): void {
    this.#overrides ??= new pg.TypeOverrides();
    this.#overrides.setTypeParser(...args);
  }

  getTypeParser(oid: number, format?: 'text'): unknown {
    return this.#types.getTypeParser(oid, format);
  }

  getTransactionStatus(): 'I' | 'T' {
    return this.#target.transaction?.state === 'open' ? 'T' : 'I';
  }

  /** The connection belongs to the transaction: `connect()`, `release()` and `end()` change nothing. */
  connect(callback?: (error: null, client: this) => void): Promise<this> | undefined {
    if (!callback) return Promise.resolve(this);
    process.nextTick(callback, null, this);
    return undefined;
  }

  release(): void {}

  end(callback?: () => void): Promise<void> | undefined {
    if (!callback) return Promise.resolve();
    process.nextTick(callback);
    return undefined;
  }

  get #types(): CustomTypesConfig {
    return this.#overrides ?? pg.types;
  }

  /** Without values `pg` takes several statements. On a pool each would be stored by itself, so that it takes one. */
  async #run(config: Config, values: readonly unknown[] | undefined): Promise<Result | Result[]> {
    const { text } = config;
    const isScript = !values && this.#nested && text.includes(';');
    const [first = text, ...others] = isScript ? splitStatements(text) : [];
    const result = await this.#send(first, config, values);
    if (others.length === 0) return result;
    const results = [result];
    for (const statement of others) results.push(await this.#send(statement, config));
    return results;
  }

  async #send(text: string, { rowMode, types = this.#types }: Config, values?: readonly unknown[]): Promise<Result> {
    try {
      if (isTransactionControl(text))
        return { rows: [], rowCount: null, command: await this.#control(text), fields: [] };
      const options = { ...(rowMode && { rowMode }), types };
      const send = () => executeOn(executorOf(this.#target), text, values, options);
      return (await (this.#nested ? this.#nested.within(send) : send())) as unknown as Result;
    } catch (error) {
      throw pgErrorOf(error);
    }
  }

  async #control(text: string): Promise<string> {
    if (!this.#nested) throw ownTransaction('A client of pg', 'pgClientOn');
    return (await this.#nested.control(text)) ?? '';
  }
}

function pgErrorOf(error: unknown): unknown {
  const refusal = refusalOf(error);
  if (!refusal) return withCallersStack(error);
  const { message = '', ...fields } = refusal;
  return Object.assign(new pg.DatabaseError(message, message.length, 'error'), fields);
}

function cannotSubmit(): TransactionError {
  const what =
    'query() of pgClientOn() takes a text or a QueryConfig, not a cursor, a stream or another Submittable, which write to the socket of a connection. A cursor of SQL works: DECLARE and FETCH';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what);
}
