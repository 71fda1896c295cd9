import { canStartServers, type FaultyProxy, openProxy, type Server, startServer } from '@ambit/test-kit';
import type { DatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readConfig, type Service, startService } from '../src/index.js';
import type { User } from '../src/users/users.js';
import type { HostVariant } from './support/app.js';
import { type JsonResponse, request, type Request } from './support/http.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const FROM_REPLICA = 'replica; hit';
const STALE = 'replica; hit; detail=primary-unavailable';
const STALE_AFTER_MS = 10_000;

interface Received<T> extends JsonResponse<T> {
  /** `Cache-Status`: null where the primary was asked. */
  readonly from: string | null;
  readonly cookie: string | undefined;
}

/** A primary behind a proxy that a test may cut, its standby, and instances of the service on them. */
describe.skipIf(!canStartServers)('with DATABASE_READ_URL', { timeout: 60_000 }, () => {
  let [primary, standby]: [Server?, Server?] = [];
  let [onPrimary, onStandby]: [DatabasePool?, DatabasePool?] = [];
  let toPrimary: FaultyProxy;
  const services: Service[] = [];
  beforeAll(async () => {
    primary = await startServer();
    standby = await primary.standby();
    [onPrimary, onStandby] = [primary, standby].map(({ url }) =>
      createPostgresPool({ connectionString: url, targetSessionAttrs: 'any' }),
    );
    toPrimary = await openProxy({ host: '127.0.0.1', port: primary.port });
  }, 60_000);
  afterEach(async () => {
    toPrimary.faultAt = () => 'none';
    await Promise.all(services.splice(0).map((service) => service.stop()));
    if (onStandby) await resumeReplay();
  });
  afterAll(async () => {
    await Promise.all([onPrimary?.close(), onStandby?.close(), toPrimary.close()]);
    standby?.stop();
    primary?.stop();
  });

  const urlOf = (...servers: readonly { readonly port: number }[]): string =>
    `postgres://postgres@${servers.map(({ port }) => `127.0.0.1:${port}`).join()}/postgres`;

  /** An instance of the service, until the test is finished. */
  async function start(HOST_VARIANT: HostVariant = 'fastify', env: Readonly<Record<string, string>> = {}) {
    const service = await startService(
      readConfig({
        HOST_VARIANT,
        PORT: '0',
        LOG_LEVEL: 'silent',
        DATABASE_URL: urlOf(toPrimary),
        DATABASE_READ_URL: standby?.url,
        DATABASE_READ_FROM: 'replica',
        TRANSACTION_CHECK: 'throw',
        ACQUIRE_TIMEOUT_MS: '500',
        ...env,
      }),
    );
    services.push(service);
    /** As a browser does, which sends the cookie that it has. */
    const send = async <T>({ cookie, ...asked }: Request & { cookie?: string | undefined }): Promise<Received<T>> => {
      const response = await request<T>(service.url, { ...asked, headers: cookie === undefined ? {} : { cookie } });
      const from = response.headers.get('cache-status');
      return { ...response, from, cookie: response.headers.get('set-cookie')?.split(';')[0] };
    };
    const get = <T = unknown>(path: string, { cookie }: { cookie?: string | undefined } = {}) =>
      send<T>({ path, cookie });
    return {
      url: service.url,
      get,
      post: (path: string, body: unknown) => send<{ id: string }>({ method: 'POST', path, body }),
      /** Resolves with the first response that is so. */
      eventually: async <T>(path: string, isSo: (response: Received<T>) => boolean): Promise<void> => {
        for (const deadline = Date.now() + STALE_AFTER_MS; ;) {
          const response = await get<T>(path);
          if (isSo(response)) return;
          if (Date.now() > deadline) throw new Error(`The last response was ${JSON.stringify(response)}`);
        }
      },
    };
  }

  /** The standby has replayed all that the primary has. */
  async function caughtUp(): Promise<void> {
    const [{ lsn } = {}] = (await onPrimary?.query('SELECT CAST(pg_current_wal_insert_lsn() AS text) AS lsn')) ?? [];
    const isThere = 'SELECT pg_last_wal_replay_lsn() >= CAST($1 AS pg_lsn) AS there';
    while ((await onStandby?.query(isThere, [lsn]))?.[0]?.['there'] !== true);
  }

  /** From now on the standby falls behind. */
  async function pauseReplay(): Promise<void> {
    await caughtUp();
    await onStandby?.query('SELECT pg_wal_replay_pause()');
    while ((await onStandby?.query('SELECT pg_get_wal_replay_pause_state() AS is'))?.[0]?.['is'] !== 'paused');
  }

  async function resumeReplay(): Promise<void> {
    await onStandby?.query('SELECT pg_wal_replay_resume()');
    await caughtUp();
  }

  test('what only reads comes from the replica, and says so', async () => {
    const service = await start();
    const { body } = await service.post('/api/users', ADA);
    await caughtUp();
    for (const path of ['/api/users', '/api/users?limit=2', `/api/users/${body.id}`, '/api/users/nobody'])
      expect([path, (await service.get(path)).from]).toEqual([path, path.endsWith('nobody') ? null : FROM_REPLICA]);
    expect(await service.get(`/api/users/${body.id}`)).toMatchObject({ status: 200, body: { ...ADA, id: body.id } });
    const head = await fetch(`${service.url}/api/users`, { method: 'HEAD' });
    expect(head.headers.get('cache-status')).toBe(FROM_REPLICA);
  });

  test('a client reads what it wrote on this instance on the other, by its cookie, and only with it', async () => {
    const [one, other] = [await start(), await start('express')];
    // A replica may serve no read before an instance knows where the primary was.
    for (const instance of [one, other]) await instance.get('/api/users');
    await pauseReplay();
    const created = await one.post('/api/users', ADA);
    const path = `/api/users/${created.body.id}`;
    for (const instance of [one, other]) {
      expect(await instance.get(path, created)).toMatchObject({ status: 200, from: null });
      expect(await instance.get(path)).toMatchObject({ status: 404, from: FROM_REPLICA });
      const { body } = await instance.get<User[]>('/api/users', created);
      expect(body.at(-1)?.id).toBe(created.body.id);
    }
    await resumeReplay();
    await other.eventually(path, ({ from, status }) => from === FROM_REPLICA && status === 200);
  });

  test.each([
    ['a user', '/api/users', ADA, {}],
    ['a user with a key', '/api/users', ADA, { 'idempotency-key': 'users-once' }],
    ['an order', '/api/orders', ORDER, {}],
    ['an order with a key', '/api/orders', ORDER, { 'idempotency-key': 'orders-once' }],
  ])('the response to %s sets the cookie, for a minute, and the replay of a key does as well', async (...given) => {
    const [, path, body, key] = given;
    const service = await start();
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
      const service = await start('fastify', { DATABASE_READ_FROM });
      const { body } = await service.post('/api/users', ADA);
      await caughtUp();
      const path = `/api/users/${body.id}`;
      const usual = DATABASE_READ_FROM === 'replica' ? FROM_REPLICA : null;
      expect(await service.get(path)).toMatchObject({ status: 200, from: usual });
      expect(await service.get('/health/ready')).toMatchObject({ status: 200, body: { status: 'ready' } });

      toPrimary.faultAt = () => 'before';
      await service.eventually(path, ({ from }) => from === STALE);
      for (const read of [path, '/api/users'])
        expect(await service.get(read)).toMatchObject({ status: 200, from: STALE });
      expect(await service.get('/health/ready')).toMatchObject({ status: 200, body: { status: 'read-only' } });
      const refused = await service.post('/api/orders', ORDER);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);

      toPrimary.faultAt = () => 'none';
      await service.eventually('/health/ready', (ready) => (ready.body as { status: string }).status === 'ready');
      await service.eventually(path, ({ from }) => from === usual);
      expect((await service.post('/api/orders', ORDER)).status).toBe(201);
    },
  );

  test('a write whose outcome is unknown sends the next reads of its client to the primary', async () => {
    const service = await start();
    toPrimary.faultAt = (message) => (message.includes('INSERT INTO users') ? 'after' : 'none');
    const lost = await service.post('/api/users', ADA);
    toPrimary.faultAt = () => 'none';
    expect(lost).toMatchObject({ status: 503, cookie: 'read-after=FFFFFFFF/FFFFFFFF' });
    expect((await service.get('/api/users', lost)).from).toBeNull();
  });

  test('without any server a read gets 503, and the service is not ready', async () => {
    const service = await start('fastify', { DATABASE_READ_URL: urlOf(toPrimary) });
    toPrimary.faultAt = () => 'before';
    await service.eventually('/api/users', ({ status }) => status === 503);
    expect(await service.get('/health/ready')).toMatchObject({
      status: 503,
      body: { error: 'Not ready: no response from the database' },
    });
  });

  test('METRICS=1 counts where reads came from', async () => {
    const service = await start('fastify', { METRICS: '1' });
    for (let read = 0; read < 3; read += 1) await service.get('/api/users');
    const text = await (await fetch(`${service.url}/metrics`)).text();
    expect(text).toMatch(/^ambit_database_reads_total\{ambit_database_read_from="replica",.*\} 3$/m);
    expect(text).toMatch(/^ambit_database_reads_total\{ambit_database_read_from="stale",.*\} 0$/m);
  });

  test('a replica that is promoted takes the writes of instances that name both servers in both variables', async () => {
    const both = urlOf(toPrimary, standby as Server);
    const env = { DATABASE_URL: both, DATABASE_READ_URL: both };
    const instances = [await start('express', env), await start('fastify', env)];
    await caughtUp();
    toPrimary.faultAt = () => 'before';
    for (const { eventually } of instances) await eventually('/api/users', ({ from }) => from === STALE);
    await onStandby?.query('SELECT pg_promote()');
    await onStandby?.close();
    onStandby = undefined;
    for (const { eventually } of instances)
      await eventually('/api/users', ({ from, status }) => status === 200 && from === null);
    for (const { post } of instances) {
      const created = await post('/api/users', ADA);
      expect(created.status).toBe(201);
      for (const other of instances)
        expect(await other.get(`/api/users/${created.body.id}`)).toMatchObject({ status: 200, from: null });
    }
  });
});
