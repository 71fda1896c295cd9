import type { CompiledQuery, Dialect, DialectAdapter, Kysely, QueryResult } from 'kysely';
import {
  type ExecuteOptions,
  type IDatabasePool,
  type IsolationLevel,
  type Transaction,
  TransactionError,
} from '@ambit/transaction';
import { AnyConnection, type KyselyDialect, kyselyIn, partsOf, StatementDriver } from '../kysely/driver.js';
import { driverErrorOf } from '../errors.js';
import { ownTransaction } from '../target.js';

/** What this adapter uses of MikroORM. An application that does not use MikroORM needs none of its types. */
export interface MikroOrm<EM extends MikroEntityManager> {
  /** The global entity manager, which `mikroOrmOn()` forks. */
  readonly em: EM;
}

/** The members of an `EntityManager` of MikroORM that the adapter uses. */
export interface MikroEntityManager {
  /** Creates an entity manager with an identity map of its own. */
  fork(options: { readonly disableContextResolution: boolean }): this;
  /** Writes what has changed to the database. */
  flush(): Promise<void>;
  /** Makes its queries statements of a transaction. */
  setTransactionContext(context: never): void;
  /** The connection that all entity managers of a MikroORM share. */
  getConnection(): unknown;
}

/** A connection of MikroORM, which is shared by all of its entity managers. */
interface TransactionalConnection {
  /** From MikroORM 7 on; before, it had Knex. */
  getClient?(): Kysely<unknown>;
  connect(options?: { skipOnConnect?: boolean }): Promise<void>;
  /** All transactions of MikroORM go through this. */
  transactional(work: (context: unknown) => Promise<unknown>, options?: NestedOptions): Promise<unknown>;
}

interface NestedOptions {
  /** The transaction around it. */
  readonly ctx?: unknown;
  readonly isolationLevel?: IsolationLevel;
  readonly readOnly?: boolean;
}

/** PostgreSQL's numbers for date, timestamp, timestamptz and interval, and for arrays of them. */
const TIMES: ReadonlySet<number> = new Set([1082, 1114, 1184, 1186]);
const ARRAYS_OF_TIMES: ReadonlySet<number> = new Set([1182, 1115, 1185, 1187]);
/** In such an array nothing is escaped. */
const ELEMENT = /"[^"]*"|[^,]+/g;

/** MikroORM parses dates and times itself, with the time zone that it is configured for; the driver parses the rest. */
const TIMES_AS_TEXT: Required<ExecuteOptions>['types'] = {
  getTypeParser(oid) {
    if (TIMES.has(oid)) return (text) => text;
    return ARRAYS_OF_TIMES.has(oid) ? elementsOf : undefined;
  },
};

/** What the statements of MikroORM are executed with. It writes values into their text, so that a statement is rarely sent twice. */
const OPTIONS: Readonly<Record<KyselyDialect, ExecuteOptions>> = {
  postgres: { types: TIMES_AS_TEXT, prepare: false },
  sqlite: {},
  mysql: {},
};

function elementsOf(array: string): (string | null)[] {
  const elements = array.slice(1, -1).match(ELEMENT) ?? [];
  return elements.map((element) => (element === 'NULL' ? null : element.replaceAll('"', '')));
}

/**
 * What MikroORM sends when it connects to SQLite. Our pool has done it, and an ORM that connects in its first transaction
 * would wait here until that transaction has completed.
 */
const FOREIGN_KEYS = 'pragma foreign_keys = on';

/** A pool serves many at once, also of SQLite, where Kysely would let one caller after the other in. */
const ADAPTERS: Readonly<Record<KyselyDialect, DialectAdapter>> = {
  postgres: servingMany(partsOf('postgres').adapter),
  sqlite: servingMany(partsOf('sqlite').adapter),
  mysql: servingMany(partsOf('mysql').adapter),
};

function servingMany(adapter: DialectAdapter): DialectAdapter {
  return Object.create(adapter, { supportsMultipleConnections: { value: true } }) as DialectAdapter;
}

/** MikroORM's way to the database outside of transactions. */
export function dialectOver(pool: IDatabasePool, dialect: KyselyDialect): Dialect {
  const { compiler, createIntrospector } = partsOf(dialect);
  return {
    createDriver: () => new MikroDriver(pool, dialect),
    createQueryCompiler: () => compiler,
    createAdapter: () => ADAPTERS[dialect],
    createIntrospector,
  };
}

/** The dialect of an ORM that was opened with `dialectOver()`. */
function dialectOf(client: Kysely<unknown> | undefined): KyselyDialect {
  const adapter = client?.getExecutor().adapter;
  for (const dialect of ['postgres', 'sqlite', 'mysql'] as const) if (ADAPTERS[dialect] === adapter) return dialect;
  const what =
    'mikroOrmOn() takes a MikroORM, from version 7 on, that was opened with the driverOptions of mikroOrmDialect()';
  throw new TransactionError('AMBIT_OPTION', what);
}

class MikroDriver extends StatementDriver {
  readonly #any: AnyConnection;

  constructor(pool: IDatabasePool, dialect: KyselyDialect) {
    super();
    this.#any = new WithoutForeignKeys(pool, { dialect, options: OPTIONS[dialect], errorOf: driverErrorOf });
  }

  async acquireConnection(): Promise<AnyConnection> {
    return this.#any;
  }

  beginTransaction(): Promise<never> {
    return Promise.reject(ownTransaction('MikroORM', 'mikroOrmOn'));
  }
}

class WithoutForeignKeys extends AnyConnection {
  override async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return query.sql === FOREIGN_KEYS ? { rows: [] } : super.executeQuery<R>(query);
  }
}

/** What MikroORM passes around as "the transaction": Kysely, and the calls that would begin or complete it. */
type TransactionContext = Kysely<unknown> & { readonly [OWNER]: Transaction };

const OWNER = Symbol('ambit.transaction');
const ADAPTED = Symbol('ambit.adapted');

interface AdaptedConnection extends TransactionalConnection {
  [ADAPTED]?: true;
}

function contextIn(transaction: Transaction, kysely: Kysely<unknown>): TransactionContext {
  return Object.assign(kysely, {
    [OWNER]: transaction,
    commit: () => refused('commit'),
    rollback: () => refused('rollback'),
    savepoint: () => refused('begin'),
  });
}

/**
 * Replaces two methods of the connection that all entity managers of a MikroORM share, once per MikroORM. Checked with
 * MikroORM 7.2.1.
 *
 * `em.transactional()` in a transaction scope becomes a nested run. MikroORM's own way, three calls, has no place for the code
 * of the run, so its statements on the `IConnection` would be refused.
 *
 * A MikroORM that connects in its first transaction would look for its database first, and wait there for a second connection.
 */
function adapt(connection: AdaptedConnection): void {
  if (connection[ADAPTED]) return;
  connection[ADAPTED] = true;
  const transactional = connection.transactional.bind(connection);
  connection.transactional = (work, options = {}) => {
    const transaction = (options.ctx as TransactionContext | undefined)?.[OWNER];
    return transaction
      ? transaction.runNested(() => work(options.ctx), nestedOptionsOf(options))
      : transactional(work, options);
  };
  const connect = connection.connect.bind(connection);
  connection.connect = () => connect({ skipOnConnect: true });
}

/** A nested run may repeat these of the transaction, and refuses any other. */
function nestedOptionsOf({ isolationLevel: isolation, readOnly }: NestedOptions): object {
  return { isolation, readOnly };
}

function refused(method: string): never {
  const what = `em.${method}() was called in a transaction scope. A nested transaction is em.transactional()`;
  throw new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

export function entityManagerIn<EM extends MikroEntityManager>(transaction: Transaction, orm: MikroOrm<EM>): EM {
  const connection = orm.em.getConnection() as TransactionalConnection;
  const dialect = dialectOf(connection.getClient?.());
  adapt(connection);
  // MikroORM would fork what its option `context` returns, which may be the entity manager that is made here.
  const em = orm.em.fork({ disableContextResolution: true });
  const kysely = kyselyIn(transaction, { dialect, options: OPTIONS[dialect], errorOf: driverErrorOf });
  em.setTransactionContext(contextIn(transaction, kysely) as never);
  transaction.onWhole('beforeCommit', () => em.flush());
  return em;
}
