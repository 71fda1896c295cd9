import { canStartServers, type FaultyProxy, openProxy, type Server, startServer } from '@ambit/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { User } from '../src/users/users.js';
import { Client } from 'pg';
import { readConfig, type Service, startService } from '../src/index.js';
import type { HostVariant } from './support/app.js';
import { type JsonResponse, request } from './support/http.js';

const STALE_AFTER_MS = 10_000;

/** A primary and its standby, each behind a proxy that a test may cut, and instances of the service on them. */
class ReplicatedStage {
  readonly #primary: Server;
  readonly #standby: Server;
  readonly #onPrimary: Client;
  readonly #onStandby: Client;
  readonly #services: Service[] = [];
  readonly toPrimary: FaultyProxy;
  readonly toStandby: FaultyProxy;

  private constructor(parts: readonly [Server, Server], clients: readonly [Client, Client], proxies: FaultyProxy[]) {
    [this.#primary, this.#standby] = parts;
    [this.#onPrimary, this.#onStandby] = clients;
    [this.toPrimary, this.toStandby] = proxies as [FaultyProxy, FaultyProxy];
  }

  static async open(): Promise<ReplicatedStage> {
    const primary = await startServer();
    const standby = await primary.standby();
    const open = async ({ url }: Server): Promise<Client> => {
      const client = new Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      return client;
    };
    const proxies = [primary, standby].map(({ port }) => openProxy({ host: '127.0.0.1', port }));
    return new ReplicatedStage(
      [primary, standby],
      [await open(primary), await open(standby)],
      await Promise.all(proxies),
    );
  }

  /** An instance of the service, until the test is finished. */
  async start(HOST_VARIANT: HostVariant = 'fastify', env: Readonly<Record<string, string>> = {}): Promise<Instance> {
    const service = await startService(
      readConfig({
        HOST_VARIANT,
        PORT: '0',
        LOG_LEVEL: 'silent',
        DATABASE_URL: urlAt(this.toPrimary),
        DATABASE_READ_URL: urlAt(this.toStandby),
        DATABASE_READ_FROM: 'replica',
        TRANSACTION_CHECK: 'throw',
        ACQUIRE_TIMEOUT_MS: '500',
        ...env,
      }),
    );
    this.#services.push(service);
    return new Instance(service);
  }

  /** From now on the standby falls behind. */
  async pauseReplay(): Promise<void> {
    await this.caughtUp();
    await this.#onStandby.query('SELECT pg_wal_replay_pause()');
    const state = 'SELECT pg_get_wal_replay_pause_state() AS state';
    while ((await this.#onStandby.query(state)).rows[0].state !== 'paused');
  }

  async resumeReplay(): Promise<void> {
    await this.#onStandby.query('SELECT pg_wal_replay_resume()');
    await this.caughtUp();
  }

  /** The standby has replayed all that the primary has. */
  async caughtUp(): Promise<void> {
    const { rows } = await this.#onPrimary.query('SELECT pg_current_wal_insert_lsn() AS lsn');
    const isThere = 'SELECT pg_last_wal_replay_lsn() >= $1 AS there';
    while ((await this.#onStandby.query(isThere, [rows[0].lsn])).rows[0].there !== true);
  }

  /** No instance is left, and both servers can be reached. */
  async clear(): Promise<void> {
    this.toPrimary.faultAt = this.toStandby.faultAt = () => 'none';
    await Promise.all(this.#services.splice(0).map((service) => service.stop()));
  }

  async close(): Promise<void> {
    await Promise.all([this.#onPrimary.end(), this.#onStandby.end(), this.toPrimary.close(), this.toStandby.close()]);
    this.#standby.stop();
    this.#primary.stop();
  }
}

/** One instance of the service, as its clients see it. */
class Instance {
  readonly service: Service;

  constructor(service: Service) {
    this.service = service;
  }

  /** As a browser does, which sends the cookie that it has. */
  async send<T = unknown>(method: string, path: string, { body, cookie }: Sent = {}): Promise<Received<T>> {
    const headers = cookie === undefined ? {} : { cookie };
    const response = await request<T>(this.service.url, { method, path, body, headers });
    return {
      ...response,
      from: response.headers.get('cache-status'),
      cookie: response.headers.get('set-cookie')?.split(';')[0],
    };
  }

  get<T = unknown>(path: string, { cookie }: Sent = {}): Promise<Received<T>> {
    return this.send<T>('GET', path, { cookie });
  }

  post(path: string, body: unknown, sent: Sent = {}): Promise<Received<{ id: string }>> {
    return this.send('POST', path, { ...sent, body });
  }

  /** Resolves with the first response that is so. */
  async eventually<T>(path: string, isSo: (response: Received<T>) => boolean): Promise<Received<T>> {
    const deadline = Date.now() + STALE_AFTER_MS;
    for (;;) {
      const response = await this.get<T>(path);
      if (isSo(response)) return response;
      if (Date.now() > deadline) throw new Error(`The last response was ${JSON.stringify(response)}`);
    }
  }
}

interface Sent {
  readonly body?: unknown;
  readonly cookie?: string | undefined;
}

interface Received<T> extends JsonResponse<T> {
  /** `Cache-Status`: null where the primary was asked. */
  readonly from: string | null;
  readonly cookie: string | undefined;
}

const urlAt = ({ port }: FaultyProxy): string => `postgres://postgres@127.0.0.1:${port}/postgres`;

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const FROM_REPLICA = 'replica; hit';
const STALE = 'replica; hit; detail=primary-unavailable';

describe.skipIf(!canStartServers)('with DATABASE_READ_URL', { timeout: 60_000 }, () => {
  let stage: ReplicatedStage;
  beforeAll(async () => {
    stage = await ReplicatedStage.open();
  }, 60_000);
  afterEach(async () => {
    await stage.clear();
    await stage.resumeReplay();
  });
  afterAll(() => stage.close());

  test('what only reads comes from the replica, and says so', async () => {
    const service = await stage.start();
    const { body } = await service.post('/api/users', ADA);
    await stage.caughtUp();
    for (const path of ['/api/users', '/api/users?limit=2', `/api/users/${body.id}`, '/api/users/nobody'])
      expect([path, (await service.get(path)).from]).toEqual([path, path.endsWith('nobody') ? null : FROM_REPLICA]);
    expect(await service.get(`/api/users/${body.id}`)).toMatchObject({ status: 200, body: { ...ADA, id: body.id } });
    const head = await fetch(`${service.service.url}/api/users`, { method: 'HEAD' });
    expect(head.headers.get('cache-status')).toBe(FROM_REPLICA);
  });

  test('a client reads what it wrote on this instance on the other, by its cookie, and only with it', async () => {
    const [one, other] = [await stage.start(), await stage.start('express')];
    // A replica may serve no read before an instance knows where the primary was.
    for (const instance of [one, other]) await instance.get('/api/users');
    await stage.pauseReplay();
    const created = await one.post('/api/users', ADA);
    const path = `/api/users/${created.body.id}`;
    for (const instance of [one, other]) {
      expect(await instance.get(path, created)).toMatchObject({ status: 200, from: null });
      expect(await instance.get(path)).toMatchObject({ status: 404, from: FROM_REPLICA });
      const { body } = await instance.get<User[]>('/api/users', created);
      expect(body.at(-1)?.id).toBe(created.body.id);
    }
    await stage.resumeReplay();
    await other.eventually(path, ({ from, status }) => from === FROM_REPLICA && status === 200);
  });

  test.each([
    ['a user', '/api/users', ADA, {}],
    ['a user with a key', '/api/users', ADA, { 'idempotency-key': 'users-once' }],
    ['an order', '/api/orders', ORDER, {}],
    ['an order with a key', '/api/orders', ORDER, { 'idempotency-key': 'orders-once' }],
  ])('the response to %s sets the cookie, for a minute, and the replay of a key does as well', async (...given) => {
    const [, path, body, key] = given;
    const { service } = await stage.start();
    const send = async (): Promise<[number, string | null]> => {
      const response = await fetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...key },
        body: JSON.stringify(body),
      });
      return [response.status, response.headers.get('set-cookie')];
    };
    for (let time = 0; time < 2; time += 1)
      expect(await send()).toEqual([
        201,
        expect.stringMatching(/^read-after=[0-9A-F]+\/[0-9A-F]+; Path=\/; Max-Age=60; HttpOnly; SameSite=Lax$/),
      ]);
  });

  test.each(['replica', 'primary'])(
    'reads go on while the primary is away, and say so, with DATABASE_READ_FROM=%s',
    async (DATABASE_READ_FROM) => {
      const service = await stage.start('fastify', { DATABASE_READ_FROM });
      const { body } = await service.post('/api/users', ADA);
      await stage.caughtUp();
      const path = `/api/users/${body.id}`;
      const usual = DATABASE_READ_FROM === 'replica' ? FROM_REPLICA : null;
      expect(await service.get(path)).toMatchObject({ status: 200, from: usual });
      expect(await service.get('/health/ready')).toMatchObject({ status: 200, body: { status: 'ready' } });

      stage.toPrimary.faultAt = () => 'before';
      await service.eventually(path, ({ from }) => from === STALE);
      for (const read of [path, '/api/users'])
        expect(await service.get(read)).toMatchObject({ status: 200, from: STALE });
      expect(await service.get('/health/ready')).toMatchObject({ status: 200, body: { status: 'read-only' } });
      const refused = await service.post('/api/orders', ORDER);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);

      stage.toPrimary.faultAt = () => 'none';
      await service.eventually('/health/ready', (ready) => (ready.body as { status: string }).status === 'ready');
      await service.eventually(path, ({ from }) => from === usual);
      expect((await service.post('/api/orders', ORDER)).status).toBe(201);
    },
  );

  test('METRICS=1 counts where reads came from', async () => {
    const service = await stage.start('fastify', { METRICS: '1' });
    for (let read = 0; read < 3; read += 1) await service.get('/api/users');
    const text = await (await fetch(`${service.service.url}/metrics`)).text();
    expect(text).toMatch(/^ambit_database_reads_total\{ambit_database_read_from="replica",.*\} 3$/m);
    expect(text).toMatch(/^ambit_database_reads_total\{ambit_database_read_from="stale",.*\} 0$/m);
  });
});
