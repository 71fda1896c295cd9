import { Client } from 'pg';

export const postgresUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** Without PostgreSQL its tests are skipped for all to see; where AMBIT_REQUIRE_POSTGRES is 1 they fail instead. */
export const hasPostgres = process.env['AMBIT_REQUIRE_POSTGRES'] === '1' || (await accepts(postgresUrl));

/** An empty schema of the PostgreSQL of the tests, removed by `drop()`. */
export interface PostgresSchema {
  /** Looks in from outside of every pool. */
  readonly admin: Client;
  /** The address, with this schema as the search path; `port` sends it through a proxy. */
  url(port?: number): string;
  drop(): Promise<void>;
}

export async function openSchema(): Promise<PostgresSchema> {
  const schema = newName();
  const admin = new Client({ connectionString: postgresUrl, options: `-c search_path=${schema}` });
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${schema}`);
  return {
    admin,
    url: (port) => {
      const address = new URL(postgresUrl);
      if (port !== undefined) address.host = `127.0.0.1:${port}`;
      address.searchParams.set('options', `-c search_path=${schema}`);
      return address.href;
    },
    drop: async () => {
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    },
  };
}

/** A database of the server, where a schema is not enough. */
export async function openPostgresDatabase(): Promise<{ name: string; url: string; drop(): Promise<void> }> {
  const name = newName();
  await asPostgresAdmin(`CREATE DATABASE ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = name;
  return { name, url: url.href, drop: () => asPostgresAdmin(`DROP DATABASE ${name} WITH (FORCE)`) };
}

export async function asPostgresAdmin(sql: string): Promise<void> {
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function newName(): string {
  return `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
}

async function accepts(connectionString: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 60_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
