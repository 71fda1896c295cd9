import { channel } from 'node:diagnostics_channel';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { openScopes } from '@ambit/container/tools';
import { listen } from '../src/channels.js';
import { Inspector } from '../src/index.js';
import type { RequestRecord } from '../src/requests.js';
import { Store } from '../src/store.js';
import { createApp } from './support/app.js';

const MANY = 4000;

function heapAfterCollecting(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return getHeapStatistics().used_heap_size / 1e6;
}

it(`a store keeps a bounded part of ${MANY} requests, statements, errors, hosts and keys that all differ`, () => {
  const app = createApp();
  let now = 0;
  let current: RequestRecord | undefined;
  const limits = { limitMs: 10_000, slowMs: 1000 };
  const store = new Store(app, openScopes(app), { ...limits, now: () => now, origin: () => current });
  onTestFinished(listen(store));
  const record = (from: number, to: number): void => {
    for (let i = from; i < to; i++) {
      now += 1;
      const response = { body: Buffer.alloc(1000) };
      current = store.arrive({ method: 'GET', route: () => (response.body.length > 0 ? `/orders/${i}` : undefined) });
      const error = Object.assign(new Error('sold out'), { code: `E_${i}`, response });
      for (let j = 0; j < 5; j++) {
        const sql = `SELECT a${i} FROM orders WHERE note = '${'x'.repeat(100)}${i}'`;
        channel('ambit:statement:outside').publish({ sql, milliseconds: 1, ...(j === 0 && { error }) });
      }
      channel('ambit:creation:failed').publish({ scope: app, key: `IKey${i}`, error });
      store.record('call', { took: 2000, host: `host-${i}` }, { error });
      store.failed(error);
      store.complete(current, 500);
    }
    current = undefined;
  };
  record(0, 2000);
  const before = heapAfterCollecting();
  record(2000, MANY);
  const grown = heapAfterCollecting() - before;
  const { requests, troubles = [] } = store.state();
  expect([requests.length, troubles.length]).toEqual([1300, 200]);
  expect(store.statements.size).toBe(1000);
  // In megabytes.
  expect(grown).toBeLessThan(4);
});

it('a recording that is started and stopped again and again leaves no listener, timer, session and profiler', () => {
  const turn = (): void => {
    const inspector = new Inspector({ container: createApp(), always: true });
    expect(inspector.watching).toBe(true);
    inspector.close();
  };
  // A profiler looks through all code of the process when it starts, so each turn takes its time.
  turn();
  const resources = (): string => process.getActiveResourcesInfo().toSorted().join(' ');
  const [before, heap] = [resources(), heapAfterCollecting()];
  for (let i = 0; i < 3; i++) turn();
  expect(resources()).toBe(before);
  expect(heapAfterCollecting() - heap).toBeLessThan(2);
  for (const name of ['ambit:scope:opened', 'undici:request:create', 'http.client.request.start'])
    expect([name, channel(name).hasSubscribers]).toEqual([name, false]);
});
