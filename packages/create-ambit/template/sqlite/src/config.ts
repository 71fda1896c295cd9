export interface Config {
  readonly host: string;
  readonly port: number;
  readonly databaseFile: string;
  /** Which database that is, and which variable says so. */
  readonly database: string;
}

/** Reads the configuration from the environment, and refuses what is invalid before anything starts. */
export function readConfig({
  HOST = '127.0.0.1',
  PORT = '3000',
  DATABASE_FILE = 'shop.db',
  DATABASE_URL,
}: NodeJS.ProcessEnv): Config {
  const port = Number(PORT);
  if (PORT === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`PORT must be the number of a port, not '${PORT}'`);
  if (DATABASE_URL) throw new Error('DATABASE_URL is not read: the data is in the file DATABASE_FILE');
  if (DATABASE_FILE === '') throw new Error('DATABASE_FILE must be the path of a file');
  return {
    host: HOST,
    port,
    databaseFile: DATABASE_FILE,
    database: `the SQLite file ${DATABASE_FILE} (DATABASE_FILE)`,
  };
}
