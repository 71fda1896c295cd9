export interface Config {
  readonly host: string;
  readonly port: number;
  readonly databaseUrl: string;
  /** Which database that is, and which variable says so, without the password. */
  readonly database: string;
}

/** Reads the configuration from the environment, and refuses what is invalid before anything starts. */
export function readConfig({ HOST = '127.0.0.1', PORT = '3000', DATABASE_URL = '' }: NodeJS.ProcessEnv): Config {
  const port = Number(PORT);
  if (PORT === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`PORT must be the number of a port, not '${PORT}'`);
  // The message does not repeat the address, because that has a password.
  if (!/^postgres(ql)?:\/\//.test(DATABASE_URL) || !URL.canParse(DATABASE_URL))
    throw new Error('DATABASE_URL must be an address such as postgres://user:password@localhost:5432/shop');
  const { host: server, pathname } = new URL(DATABASE_URL);
  return { host: HOST, port, databaseUrl: DATABASE_URL, database: `PostgreSQL at ${server}${pathname} (DATABASE_URL)` };
}
