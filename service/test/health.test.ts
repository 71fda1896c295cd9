import { Registration } from '@ambit/container';
import { connectionLost } from '@ambit/host-contract';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Health } from '../src/health.js';
import { createLogger } from '../src/index.js';
import { onEveryStage } from './support/every-stage.js';

const answers = async (): Promise<[]> => [];

onEveryStage((stage) => {
  const health = (query: () => Promise<never[]> = answers): Health => {
    const replaced = new Health({ query }, stage.app.log.logger);
    stage.replace(Registration.fromValue(replaced).to('IHealth'));
    return replaced;
  };

  test('a running service is live and ready', async () => {
    expect(await stage.get('/health/live')).toMatchObject({ status: 200, body: { status: 'live' } });
    expect(await stage.get('/health/ready')).toMatchObject({ status: 200, body: { status: 'ready' } });
  });

  test('a service that starts is live, and not ready', async () => {
    health();
    expect(await stage.get('/health/live')).toMatchObject({ status: 200 });
    expect(await stage.get('/health/ready')).toMatchObject({ status: 503, body: { error: 'Not ready: starting' } });
  });

  test('a service that drains is live, and not ready', async () => {
    const replaced = health();
    replaced.started();
    replaced.draining();
    expect(await stage.get('/health/live')).toMatchObject({ status: 200 });
    expect(await stage.get('/health/ready')).toMatchObject({ status: 503, body: { error: 'Not ready: draining' } });
  });

  test('a service whose database does not answer is live, and not ready', async () => {
    health(() => Promise.reject(connectionLost())).started();
    expect(await stage.get('/health/live')).toMatchObject({ status: 200 });
    expect(await stage.get('/health/ready')).toMatchObject({
      status: 503,
      body: { error: 'Not ready: no answer from the database' },
    });
  });

  test('a service is ready again when its database is', async () => {
    let down = true;
    health(() => (down ? Promise.reject(connectionLost()) : answers())).started();
    expect((await stage.get('/health/ready')).status).toBe(503);
    down = false;
    expect((await stage.get('/health/ready')).status).toBe(200);
  });

  test('a database that is away is told of in the log once, and once more when it is back', async () => {
    let down = true;
    health(() => (down ? Promise.reject(connectionLost()) : answers())).started();
    for (const isDown of [true, true, false, false]) {
      down = isDown;
      await stage.get('/health/ready');
    }
    await stage.app.quiet();
    const told = stage.app.log.records.filter(({ level }) => level !== 20);
    expect(told).toMatchObject([
      { level: 50, msg: 'not ready: no answer from the database', err: { code: 'AMBIT_TX_CONNECTION_LOST' } },
      { level: 30, msg: 'ready again' },
    ]);
  });

  test('asking does not fill the log', async () => {
    await stage.get('/health/live');
    const { level } = await stage.app.log.finds({ msg: 'request', path: '/health/live' });
    expect(level).toBe(20);
  });
});

describe('a database that does not answer', () => {
  afterEach(() => vi.useRealTimers());

  test('is given 2 seconds', async () => {
    vi.useFakeTimers();
    const health = new Health({ query: () => new Promise<never>(() => undefined) }, createLogger('silent'));
    health.started();
    const told = vi.fn<(readiness: string) => void>();
    void health.readiness().then(told);
    await vi.advanceTimersByTimeAsync(1999);
    expect(told).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toHaveBeenCalledExactlyOnceWith('no answer from the database');
  });
});
