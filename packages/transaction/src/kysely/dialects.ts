import { inspect } from 'node:util';
import {
  type Dialect,
  type DialectAdapter,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { TransactionError } from '../core/errors.js';

/** The SQL that Kysely writes. */
export type KyselyDialect = 'postgres' | 'sqlite';

/** `IConnection` takes `$1 ... $n` on every database. */
class NumberedSqliteCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return `$${this.numParameters}`;
  }
}

interface SharedParts {
  readonly compiler: QueryCompiler;
  readonly adapter: DialectAdapter;
  readonly createIntrospector: Dialect['createIntrospector'];
}

/** Made once, not per transaction: a compiler binds about a hundred functions, and keeps nothing from one query to the next. */
const DIALECTS: Readonly<Record<KyselyDialect, SharedParts>> = {
  postgres: {
    compiler: new PostgresQueryCompiler(),
    adapter: new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  },
  sqlite: {
    compiler: new NumberedSqliteCompiler(),
    adapter: new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  },
};

export function partsOf(dialect: KyselyDialect): SharedParts {
  if (Object.hasOwn(DIALECTS, dialect)) return DIALECTS[dialect];
  const known = Object.keys(DIALECTS).join(', ');
  throw new TransactionError('AMBIT_TX_OPTION', `dialect must be one of ${known}, not ${inspect(dialect)}`);
}
