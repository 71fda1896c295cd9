// Better Auth in a transaction: the user, the session and a row of the application commit or vanish together.
import type { Container } from '@ambit/container';
import { kyselyOn } from '@ambit/orm/kysely';
import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { betterAuth, type BetterAuthOptions } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';

/** The same options for the connection of a transaction and for the pool, through which what needs no transaction goes. */
export const authOptions = (database: IConnection | IDatabasePool) =>
  ({
    database: { db: kyselyOn(database, { dialect: 'sqlite' }), type: 'sqlite' },
    emailAndPassword: { enabled: true },
    secret: 'a secret of the environment, of at least 32 characters',
    baseURL: 'http://localhost:3000',
    telemetry: { enabled: false },
  }) satisfies BetterAuthOptions;

export async function createTables(pool: IDatabasePool): Promise<void> {
  const { runMigrations } = await getMigrations(authOptions(pool));
  await runMigrations();
  await pool.query('CREATE TABLE welcomes (email TEXT NOT NULL)');
}

/** Registers a user, and the letter that welcomes them. `fail` is what may happen behind. */
export const signUp = (app: Container, email: string, fail = () => {}): Promise<string | null> =>
  runInTransaction(app, async (transaction) => {
    const connection = transaction.resolve('IConnection');
    const auth = betterAuth(authOptions(connection));
    const { token } = await auth.api.signUpEmail({ body: { email, name: email, password: 'correct horse battery' } });
    await connection.query('INSERT INTO welcomes (email) VALUES ($1)', [email]);
    fail();
    return token;
  });
