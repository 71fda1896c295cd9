import { Container, lifetimes, onStart, type Services } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { kyselyOn } from '@ambit/orm/kysely';
import { transactionCheck } from '@ambit/transaction/check';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { Articles } from './articles.ts';
import { Tokens } from './auth.ts';
import { Comments } from './comments.ts';
import { Profiles } from './profiles.ts';
import { createTables, type Tables } from './tables.ts';
import { Users } from './users.ts';

export interface Config {
  /** PostgreSQL; without it, SQLite. */
  readonly databaseUrl: string | undefined;
  /** The file of SQLite. */
  readonly file: string;
  /** Signs the tokens. */
  readonly secret: string;
}

const { of, make, alias, registered, build } = lifetimes('application', 'request', 'transaction');

/** For `ambit check`, which compares what each route does with the database. */
const check = transactionCheck({ enabled: false });

/** Every service of the application, its lifetime, and what it needs. The compiler checks all of it. */
function createGraph({ databaseUrl, file, secret }: Config) {
  const dialect = databaseUrl === undefined ? 'sqlite' : 'postgres';
  return build({
    ITokens: make('application', () => new Tokens(secret)),
    IDatabasePool: make('application', (): IDatabasePool =>
      check.pool(
        databaseUrl === undefined
          ? createSqlitePool({ path: file })
          : createPostgresPool({ connectionString: databaseUrl }),
      ),
    ).pipe(onStart((pool) => createTables(pool, dialect))),

    // Registered by the host on each scope.
    authorization: registered('request').as<string>(),
    IConnection: registered('transaction').as<IConnection>(),

    IViewer: make('request', (tokens: Tokens, header: string) => tokens.viewerOf(header), ['ITokens', 'authorization']),

    // A request reads through the pool; behind `withTransaction()` everything is on the connection of the transaction.
    database: alias({ request: 'IDatabasePool', transaction: 'IConnection' }),
    db: make(
      ['request', 'transaction'],
      (database: IDatabasePool | IConnection) => kyselyOn<Tables>(database, { dialect }),
      ['database'],
    ),
    IUsers: of(['request', 'transaction'], Users, ['db', 'IViewer', 'ITokens']),
    IProfiles: of(['request', 'transaction'], Profiles, ['db', 'IViewer']),
    IArticles: of(['request', 'transaction'], Articles, ['db', 'IViewer', 'IProfiles']),
    IComments: of(['request', 'transaction'], Comments, ['db', 'IViewer', 'IArticles', 'IProfiles']),
  });
}

declare module '@ambit/container' {
  interface ServiceMap extends Services<ReturnType<typeof createGraph>> {}
  interface Settings {
    strictKeys: true;
  }
}

export function createContainer(config: Config): Container {
  const graph = createGraph(config);
  const container = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
  verify(container, ...graph.scopes, { noEscape: true });
  return container;
}
