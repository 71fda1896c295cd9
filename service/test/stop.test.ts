import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { inScope } from '@ambit/container/work';
import { Happenings, openProxy, Pause, RawClient, type RawResponse, refused, requestText } from '@ambit/test-kit';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { readConfig, startService } from '../src/index.js';
import { mariadb, serverKinds } from './support/databases.js';
import { ServiceProcess } from './support/service-process.js';

const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const [HEAD = '', BODY = ''] = requestText({
  method: 'POST',
  path: '/api/orders',
  body: ORDER,
  headers: { expect: '100-continue' },
}).split(/(?<=\r\n\r\n)/);

/** A client that has sent the head of its request, and not yet the body. */
async function requestInProgress(service: ServiceProcess): Promise<RawClient> {
  const client = await service.client();
  client.write(HEAD);
  expect((await client.response()).status).toBe(100);
  return client;
}

async function finish(client: RawClient): Promise<RawResponse> {
  client.write(BODY);
  return client.response();
}

describe.each(HOST_VARIANTS)('the service with %s', (variant) => {
  test('logs its URL; on SIGTERM it completes the requests in progress, and exits with 0', async () => {
    await using service = new ServiceProcess({ DATA_DIR: ':memory:', HOST_VARIANT: variant });
    expect(await service.says('listening')).toEqual({
      level: 30,
      time: expect.any(String),
      msg: 'listening',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      host: variant,
      database: 'sqlite',
      place: expect.stringMatching(/^SQLite in memory/),
    });
    const idle = await service.client();
    expect((await idle.request({ path: '/health/ready' })).status).toBe(200);
    const silent = await service.client();
    const client = await requestInProgress(service);
    service.kill('SIGTERM');
    await refused(await service.port());
    const response = await finish(client);
    expect(response.status).toBe(201);
    expect(response.headers['connection']).toBe('close');
    for (const other of [idle, silent, client]) await other.closed();
    expect((await service.exit).code).toBe(0);
    expect(await service.says('stopping')).toMatchObject({ signal: 'SIGTERM' });
    expect(await service.says('stopped')).toEqual({ level: 30, time: expect.any(String), msg: 'stopped' });
  });
});

describe('the service', () => {
  const start = (env: Record<string, string> = {}): ServiceProcess =>
    new ServiceProcess({ DATA_DIR: ':memory:', ...env });

  test.each(HOST_VARIANTS)(
    'with KEEP_IDLE_MS it reports on open connections that it is draining, and completes a request that was on its way, on %s',
    async (HOST_VARIANT) => {
      const env = { HOST_VARIANT, PORT: '0', DATA_DIR: ':memory:', LOG_LEVEL: 'silent', KEEP_IDLE_MS: '3000' };
      const service = await startService(readConfig(env));
      const client = await RawClient.connect(Number(new URL(service.url).port));
      const onItsWay = await RawClient.connect(Number(new URL(service.url).port));
      const ready = { path: '/health/ready' };
      for (const each of [client, onItsWay]) expect((await each.request(ready)).status).toBe(200);
      const stopped = service.stop();
      const { status, text } = await client.request(ready);
      expect([status, text]).toEqual([503, '{"error":"Not ready: draining"}']);
      const other = await onItsWay.request({ method: 'POST', path: '/api/orders', body: ORDER });
      expect([other.status, other.headers['connection']]).toEqual([201, 'close']);
      await stopped;
    },
  );

  test('exits at once with 0 on SIGTERM before it is ready', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    await using service = start({ DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none` });
    const [socket] = (await once(silent, 'connection')) as [Socket];
    service.kill('SIGTERM');
    const { code, output } = await service.exit;
    socket.destroy();
    silent.close();
    expect(code).toBe(0);
    expect(output).toContain('stopping');
    expect(output).not.toContain('could not start');
  });

  test('exits at once with 1 at a second signal', async () => {
    await using service = start();
    await requestInProgress(service);
    service.kill('SIGTERM');
    await refused(await service.port());
    service.kill('SIGINT');
    const { code, output } = await service.exit;
    expect(code).toBe(1);
    expect(output).toContain('Received a second signal: exiting at once');
  });

  test.each(HOST_VARIANTS)(
    'closes the connections of requests in progress after SHUTDOWN_TIMEOUT_MS, and logs it, on %s',
    async (HOST_VARIANT) => {
      await using service = start({ HOST_VARIANT, SHUTDOWN_TIMEOUT_MS: '50' });
      const client = await requestInProgress(service);
      service.kill('SIGTERM');
      await client.closed();
      const { code, output } = await service.exit;
      expect(code).toBe(0);
      const { level, err } = await service.says('Connections were closed by force');
      expect([level, err]).toEqual([40, expect.objectContaining({ code: 'AMBIT_DRAIN_TIMEOUT' })]);
      expect(output.split('\n').filter((line) => !/^(\{.*\})?$/.test(line))).toEqual([]);
    },
  );

  test.each(HOST_VARIANTS)('completes the work without HTTP that is in progress, on %s', async (HOST_VARIANT) => {
    const env = { HOST_VARIANT, PORT: '0', DATA_DIR: ':memory:', LOG_LEVEL: 'silent' };
    const service = await startService(readConfig(env));
    const pause = new Pause();
    const work = inScope(service.container, { tags: ['job'] }, async (scope) => {
      await pause.here();
      return scope.resolve('IDatabasePool').query('SELECT id FROM users');
    });
    await pause.reached;
    const stopped = service.stop();
    await refused(Number(new URL(service.url).port));
    pause.letGo();
    expect(await work).toEqual([]);
    await stopped;
  });

  describe.each(serverKinds)('with $name', (kind) => {
    test.skipIf(kind.missing)('waits no longer than that for a database that hangs', async () => {
      await using database = await kind.open();
      const url = new URL(database.env['DATABASE_URL'] ?? '');
      const line = await openProxy({ host: url.hostname, port: Number(url.port || (kind === mariadb ? 3306 : 5432)) });
      onTestFinished(() => line.close());
      url.host = `127.0.0.1:${line.port}`;
      await using service = start({ DATABASE_URL: url.href, SHUTDOWN_TIMEOUT_MS: '50' });
      const [reader, buyer] = [await service.client(), await service.client()];
      await reader.request({ path: '/api/users' });
      const happenings = new Happenings();
      let unheard = 0;
      line.faultAt = () => {
        unheard += 1;
        happenings.tell();
        return 'swallowed';
      };
      // One request uses the open connection, the other waits for a new one.
      buyer.send({ method: 'POST', path: '/api/orders', body: ORDER });
      await happenings.until(() => unheard > 0, 'the order waits');
      const before = unheard;
      reader.send({ path: '/api/users' });
      await happenings.until(() => unheard > before, 'the list waits');
      service.kill('SIGTERM');
      expect((await service.exit).code).toBe(0);
    });
  });

  test('exits with 1 when disposal exceeds its time limit', async () => {
    const neverEnds = new URL('support/never-disposes.mjs', import.meta.url).href;
    const env = { DATA_DIR: ':memory:', SHUTDOWN_TIMEOUT_MS: '0' };
    await using service = new ServiceProcess(env, { execArgv: ['--import', neverEnds] });
    await (await service.client()).request({ path: '/api/users' });
    service.kill('SIGTERM');
    const { code, output } = await service.exit;
    expect(code).toBe(1);
    expect(output).toContain('The service did not shut down in time');
  });
});
