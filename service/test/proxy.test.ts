import { hasMariadb, hasPostgres, mariadbUrl, postgresUrl } from '@ambit/host-contract';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';

type Fate = 'pass' | 'before' | 'after';

interface Proxy {
  readonly port: number;
  readonly commits: Readonly<Record<Fate, number>>;
  close(): Promise<void>;
}

/** The chaos tests are JavaScript, whose types this project does not read. */
const { MariadbConversation, PostgresConversation, startProxy } = (await import(
  String(new URL('../chaos/proxy.mjs', import.meta.url))
)) as {
  readonly MariadbConversation: unknown;
  readonly PostgresConversation: unknown;
  startProxy(
    server: { host: string; port: number },
    decide: () => Fate,
    committing: RegExp,
    protocol: unknown,
  ): Promise<Proxy>;
};

interface Session {
  /** Gives the first row. */
  query(sql: string): Promise<object | undefined>;
  /** The same as a prepared statement, whose values are `$1 ... $n`. */
  execute(sql: string, values?: readonly unknown[]): Promise<object | undefined>;
  end(): Promise<void>;
}

interface Server {
  readonly name: string;
  readonly missing: boolean;
  readonly url: string;
  readonly protocol: unknown;
  connect(url: string): Promise<Session>;
}

async function connectPostgres(url: string): Promise<Session> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return {
    query: async (sql) => (await client.query<object>(sql)).rows[0],
    execute: async (text, values = []) =>
      (await client.query<object>({ name: text, text, values: [...values] })).rows[0],
    end: () => client.end(),
  };
}

async function connectMariadb(url: string): Promise<Session> {
  const connection = await createConnection(url);
  connection.on('error', () => undefined);
  const firstOf = ([rows]: readonly unknown[]): object | undefined =>
    Array.isArray(rows) ? (rows as object[])[0] : undefined;
  return {
    query: async (sql) => firstOf(await connection.query(sql)),
    execute: async (sql, values = []) =>
      firstOf(await connection.execute(sql.replaceAll(/\$\d/g, '?'), [...values] as never[])),
    end: () => connection.end(),
  };
}

const servers: readonly Server[] = [
  {
    name: 'PostgreSQL',
    missing: !hasPostgres,
    url: postgresUrl,
    protocol: PostgresConversation,
    connect: connectPostgres,
  },
  {
    name: 'MariaDB',
    missing: !hasMariadb,
    url: `${mariadbUrl}/mysql`,
    protocol: MariadbConversation,
    connect: connectMariadb,
  },
];

const LOST = /Connection terminated unexpectedly|Connection lost|closed state/;

describe.each(servers)('the proxy that cuts at COMMIT of $name', ({ missing, url, protocol, connect, name }) => {
  describe.skipIf(missing)('does what it is asked to', () => {
    const table = `proxy_test_${process.pid}`;
    let fate: Fate;
    let proxy: Proxy;
    let direct: Session;
    let client: Session;

    beforeEach(async () => {
      fate = 'pass';
      const { hostname: host, port } = new URL(url);
      const server = { host, port: Number(port || (name === 'MariaDB' ? 3306 : 5432)) };
      proxy = await startProxy(
        server,
        () => fate,
        /^(?:commit|insert into \w+ \(text\) values \('alone'\))$/i,
        protocol,
      );
      const throughProxy = new URL(url);
      throughProxy.host = `127.0.0.1:${proxy.port}`;
      [direct, client] = await Promise.all([connect(url), connect(throughProxy.href)]);
      await direct.query(`CREATE TABLE ${table} (id integer UNIQUE, text ${name === 'MariaDB' ? 'longtext' : 'text'})`);
    });

    afterEach(async () => {
      await proxy.close();
      await direct.query(`DROP TABLE ${table}`);
      await direct.end();
    });

    const alone = `INSERT INTO ${table} (text) VALUES ('alone')`;

    async function insert(text = ''): Promise<void> {
      await client.query('BEGIN');
      await client.execute(`INSERT INTO ${table} (id, text) VALUES (1, $1)`, [text]);
    }

    async function stored(): Promise<number> {
      const row = await direct.query(`SELECT count(*) AS count FROM ${table}`);
      return Number((row as { count: number | string }).count);
    }

    test('forwards a COMMIT and its result', async () => {
      await insert();
      await client.query('COMMIT');
      expect([await stored(), proxy.commits]).toEqual([1, { pass: 1, before: 0, after: 0 }]);
    });

    test('cuts before COMMIT reaches the server: nothing is stored', async () => {
      fate = 'before';
      await insert();
      await expect(client.query('COMMIT')).rejects.toThrow(LOST);
      expect([await stored(), proxy.commits]).toEqual([0, { pass: 0, before: 1, after: 0 }]);
    });

    test('cuts after COMMIT was carried out: the row is stored, and the client does not know', async () => {
      fate = 'after';
      await insert();
      await expect(client.query('COMMIT')).rejects.toThrow(LOST);
      expect([await stored(), proxy.commits]).toEqual([1, { pass: 0, before: 0, after: 1 }]);
    });

    test('recognizes a COMMIT that is sent as a prepared statement', async () => {
      fate = 'before';
      await insert();
      await expect(client.execute('COMMIT')).rejects.toThrow(LOST);
      expect(await stored()).toBe(0);
    });

    test('recognizes each execution of a prepared statement, and counts it once', async () => {
      await client.execute(alone);
      fate = 'before';
      await expect(client.execute(alone)).rejects.toThrow(LOST);
      expect([await stored(), proxy.commits]).toEqual([1, { pass: 1, before: 1, after: 0 }]);
    });

    test('cuts after a statement that commits itself', async () => {
      fate = 'after';
      await expect(client.execute(alone)).rejects.toThrow(LOST);
      expect([await stored(), proxy.commits.after]).toEqual([1, 1]);
    });

    test('ignores the same statement within a transaction', async () => {
      fate = 'after';
      await client.query('BEGIN');
      await client.execute(alone);
      fate = 'pass';
      await client.query('COMMIT');
      expect([await stored(), proxy.commits.after]).toEqual([1, 0]);
    });

    test('forwards the refusal of a statement that would have committed to the client', async () => {
      fate = 'after';
      await direct.query(`ALTER TABLE ${table} ADD CHECK (text <> 'alone')`);
      await expect(client.execute(alone)).rejects.toThrow(/check|CONSTRAINT/i);
      expect(await client.query('SELECT 1 AS one')).toMatchObject({ one: 1 });
    });

    test('ignores texts that only contain COMMIT, and messages in several pieces', async () => {
      fate = 'before';
      const text = 'COMMIT'.repeat(100_000);
      await insert(text);
      const row = await client.query(`SELECT 'COMMIT' AS said, text FROM ${table}`);
      expect(row).toEqual({ said: 'COMMIT', text });
    });
  });
});

/** To roll back is no error in PostgreSQL. */
test.skipIf(!hasPostgres)('the proxy forwards a COMMIT to which PostgreSQL responds with ROLLBACK', async () => {
  const { hostname: host, port } = new URL(postgresUrl);
  const proxy = await startProxy(
    { host, port: Number(port || 5432) },
    () => 'after',
    /^commit$/i,
    PostgresConversation,
  );
  onTestFinished(() => proxy.close());
  const throughProxy = new URL(postgresUrl);
  throughProxy.host = `127.0.0.1:${proxy.port}`;
  const client = new Client({ connectionString: throughProxy.href });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('BEGIN');
  await expect(client.query('SELECT 1 / 0')).rejects.toThrow('division by zero');
  expect(await client.query('COMMIT')).toMatchObject({ command: 'ROLLBACK' });
});
