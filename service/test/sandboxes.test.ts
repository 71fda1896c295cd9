import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { readConfig, type Service, startService } from '../src/index.js';
import { postgres, sqlite, type TestDatabase } from './support/databases.js';
import { type JsonResponse, request } from './support/http.js';

interface User {
  readonly name: string;
}

/** A client that sends all of its requests to one sandbox, or to none. */
class Client {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, id?: string) {
    this.#url = url;
    this.#headers = id === undefined ? {} : { 'x-ambit-sandbox': id };
  }

  get<T>(path: string): Promise<JsonResponse<T>> {
    return request<T>(this.#url, { path, headers: this.#headers });
  }

  post<T>(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<JsonResponse<T>> {
    return request<T>(this.#url, { method: 'POST', path, body, headers: { ...this.#headers, ...headers } });
  }

  async names(): Promise<string[]> {
    const { body } = await this.get<User[]>('/api/users');
    return body.map(({ name }) => name);
  }

  createUser(name: string, headers?: Readonly<Record<string, string>>): Promise<JsonResponse<User>> {
    return this.post('/api/users', { name, email: 'somebody@example.com' }, headers);
  }

  placeOrder(headers?: Readonly<Record<string, string>>): Promise<JsonResponse<{ id: string }>> {
    return this.post('/api/orders', { items: [{ productId: 'apple', quantity: 1 }] }, headers);
  }
}

const TABLES = ['users', 'orders', 'order_items', 'stock', 'reservations', 'idempotency_keys'];

describe.skipIf(postgres.missing).each(HOST_VARIANTS)('SANDBOX=1 with PostgreSQL, on %s', (variant) => {
  let database: TestDatabase;
  let service: Service;
  let ids: string[];

  beforeAll(async () => {
    database = await postgres.open();
    const env = { HOST_VARIANT: variant, PORT: '0', SANDBOX: '1', LOG_LEVEL: 'silent', ...database.env };
    service = await startService(readConfig(env));
  });
  beforeEach(() => {
    ids = [];
  });
  afterEach(async () => {
    for (const id of ids) await release(id);
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });

  const release = async (id: string): Promise<number> =>
    (await request(service.url, { method: 'DELETE', path: `/sandboxes/${id}` })).status;

  async function newClient(): Promise<Client> {
    const { status, body } = await request<{ id: string }>(service.url, { method: 'POST', path: '/sandboxes' });
    expect(status).toBe(201);
    ids.push(body.id);
    return new Client(service.url, body.id);
  }

  const stored = async (): Promise<string[]> => {
    const pool = service.container.resolve('IDatabasePool');
    const found = await Promise.all(TABLES.map(async (table) => (await pool.query(`SELECT 1 FROM ${table}`)).length));
    return TABLES.filter((_, index) => found[index] !== 0);
  };

  test('gives each sandbox users and orders of its own, and stores none', async () => {
    const clients = await Promise.all([newClient(), newClient(), newClient()]);
    const names = clients.map((_, index) => [`Ada ${index}`, `Bob ${index}`]);
    await Promise.all(
      clients.map(async (client, index) => {
        for (const name of names[index] ?? []) expect(await client.createUser(name)).toMatchObject({ status: 201 });
        expect(await client.placeOrder({ 'idempotency-key': randomUUID() })).toMatchObject({ status: 201 });
      }),
    );
    expect(await Promise.all(clients.map((client) => client.names()))).toEqual(names);
    expect(await new Client(service.url).names()).toEqual([]);
    for (const id of ids.splice(0)) expect(await release(id)).toBe(200);
    expect(await stored()).toEqual([]);
  });

  test('does not lock an idempotency key that is in use outside of the sandbox', async () => {
    const key = randomUUID();
    const scope = service.container.createScope({ tags: ['request'] });
    scope.resolve('IIdempotency').lock(scope, { key, caller: undefined, endpoint: 'POST /api/orders', input: null });
    expect(await new Client(service.url).placeOrder({ 'idempotency-key': key })).toMatchObject({ status: 409 });
    expect(await (await newClient()).placeOrder({ 'idempotency-key': key })).toMatchObject({ status: 201 });
    await scope.dispose();
  });

  test('refuses a sandbox that is not open, with 400', async () => {
    const refusal = { status: 400, body: { error: expect.stringMatching(/ no open sandbox\b/) } };
    expect(await new Client(service.url, randomUUID()).get('/api/users')).toMatchObject(refusal);
    await newClient();
    for (const id of ids.splice(0)) {
      await release(id);
      expect(await new Client(service.url, id).createUser('Ada')).toMatchObject(refusal);
      expect(await release(id)).toBe(400);
    }
    expect(await stored()).toEqual([]);
  });
});

describe.each(HOST_VARIANTS)('on %s', (variant) => {
  test('nothing about sandboxes exists without SANDBOX=1', async () => {
    await using database = await sqlite.open();
    const env = { HOST_VARIANT: variant, PORT: '0', LOG_LEVEL: 'silent', ...database.env };
    const service = await startService(readConfig(env));
    expect(await request(service.url, { method: 'POST', path: '/sandboxes' })).toMatchObject({ status: 404 });
    expect(await new Client(service.url, randomUUID()).get('/api/users')).toMatchObject({ status: 200 });
    await service.stop();
  });

  test('a sandbox is undone when the service stops', async () => {
    await using database = await sqlite.open();
    const env = { HOST_VARIANT: variant, PORT: '0', LOG_LEVEL: 'silent', ...database.env };
    const service = await startService(readConfig({ ...env, SANDBOX: '1' }));
    const { body } = await request<{ id: string }>(service.url, { method: 'POST', path: '/sandboxes' });
    await new Client(service.url, body.id).createUser('Ada');
    await service.stop();
    const again = await startService(readConfig(env));
    expect(await new Client(again.url).names()).toEqual([]);
    await again.stop();
  });
});
