import { databases, postgresUrl } from '@ambit/host-contract';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

type Fate = 'pass' | 'before' | 'after';

interface Proxy {
  readonly port: number;
  readonly commits: Readonly<Record<Fate, number>>;
  close(): Promise<void>;
}

/** The chaos tests are JavaScript, whose types this project does not read. */
const { startProxy } = (await import(String(new URL('../chaos/proxy.mjs', import.meta.url)))) as {
  startProxy(server: { host: string; port: number }, decide: () => Fate, committing?: RegExp): Promise<Proxy>;
};

const missing = databases.some(({ name, missing: absent }) => name === 'PostgreSQL' && absent);

describe.skipIf(missing)('the proxy that cuts at COMMIT', () => {
  const table = `proxy_test_${process.pid}`;
  let fate: Fate;
  let proxy: Proxy;
  let direct: Client;
  let client: Client;

  beforeEach(async () => {
    fate = 'pass';
    const { hostname, port, pathname, username, password } = new URL(postgresUrl);
    const server = { host: hostname, port: Number(port || 5432) };
    const login = { user: username, password: decodeURIComponent(password), database: pathname.slice(1) };
    proxy = await startProxy(server, () => fate, /^(?:commit|insert into \w+ default values)$/i);
    direct = new Client({ ...login, ...server });
    client = new Client({ ...login, host: '127.0.0.1', port: proxy.port });
    client.on('error', () => undefined);
    await Promise.all([direct.connect(), client.connect()]);
    await direct.query(`CREATE TABLE ${table} (id integer UNIQUE, text text)`);
  });

  afterEach(async () => {
    await proxy.close();
    await direct.query(`DROP TABLE ${table}`);
    await direct.end();
  });

  async function insert(text = ''): Promise<void> {
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${table} (id, text) VALUES (1, $1)`, [text]);
  }

  async function stored(): Promise<number> {
    const { rows } = await direct.query<{ count: number }>(`SELECT count(*)::integer AS count FROM ${table}`);
    return rows[0]?.count ?? 0;
  }

  test('forwards a COMMIT and its result', async () => {
    await insert();
    expect(await client.query('COMMIT')).toMatchObject({ command: 'COMMIT' });
    expect([await stored(), proxy.commits]).toEqual([1, { pass: 1, before: 0, after: 0 }]);
  });

  test('cuts before COMMIT reaches the server: nothing is stored', async () => {
    fate = 'before';
    await insert();
    await expect(client.query('COMMIT')).rejects.toThrow('Connection terminated unexpectedly');
    expect([await stored(), proxy.commits]).toEqual([0, { pass: 0, before: 1, after: 0 }]);
  });

  test('cuts after COMMIT was carried out: the row is stored, and the client does not know', async () => {
    fate = 'after';
    await insert();
    await expect(client.query('COMMIT')).rejects.toThrow('Connection terminated unexpectedly');
    expect([await stored(), proxy.commits]).toEqual([1, { pass: 0, before: 0, after: 1 }]);
  });

  test('recognizes a COMMIT that is sent as a prepared statement', async () => {
    fate = 'before';
    await insert();
    await expect(client.query({ name: 'end', text: 'COMMIT' })).rejects.toThrow('Connection terminated unexpectedly');
    expect(await stored()).toBe(0);
  });

  test('recognizes each execution of a prepared statement, and counts it once', async () => {
    const insertion = { name: 'insertion', text: `INSERT INTO ${table} DEFAULT VALUES` };
    await client.query(insertion);
    fate = 'before';
    await expect(client.query(insertion)).rejects.toThrow('Connection terminated unexpectedly');
    expect([await stored(), proxy.commits]).toEqual([1, { pass: 1, before: 1, after: 0 }]);
  });

  test('cuts after a statement that commits itself', async () => {
    fate = 'after';
    const insertion = client.query(`INSERT INTO ${table} DEFAULT VALUES`);
    await expect(insertion).rejects.toThrow('Connection terminated unexpectedly');
    expect([await stored(), proxy.commits.after]).toEqual([1, 1]);
  });

  test('ignores the same statement within a transaction', async () => {
    fate = 'after';
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${table} DEFAULT VALUES`);
    fate = 'pass';
    expect(await client.query('COMMIT')).toMatchObject({ command: 'COMMIT' });
  });

  test('forwards the refusal of a COMMIT to the client', async () => {
    fate = 'after';
    await insert();
    await expect(insert()).rejects.toThrow('duplicate key');
    expect(await client.query('COMMIT')).toMatchObject({ command: 'ROLLBACK' });
  });

  test('ignores texts that only contain COMMIT, and messages in several pieces', async () => {
    fate = 'before';
    const text = 'COMMIT'.repeat(100_000);
    await insert(text);
    const { rows } = await client.query(`SELECT 'COMMIT' AS said, text FROM ${table}`);
    expect(rows).toEqual([{ said: 'COMMIT', text }]);
  });
});
