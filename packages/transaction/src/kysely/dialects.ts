import {
  type Dialect,
  type DialectAdapter,
  MysqlAdapter,
  MysqlIntrospector,
  MysqlQueryCompiler,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';

/** The SQL that Kysely writes. */
export type KyselyDialect = 'postgres' | 'sqlite' | 'mysql';

/** `IConnection` takes `$1 ... $n` on every database. */
class NumberedSqliteCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return `$${this.numParameters}`;
  }
}

class NumberedMysqlCompiler extends MysqlQueryCompiler {
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
export const DIALECTS: Readonly<Record<KyselyDialect, SharedParts>> = {
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
  mysql: {
    compiler: new NumberedMysqlCompiler(),
    adapter: new MysqlAdapter(),
    createIntrospector: (db) => new MysqlIntrospector(db),
  },
};
