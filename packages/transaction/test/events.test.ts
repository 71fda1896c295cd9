import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Container } from '@ambit/container';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import type { IConnection } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { FakePool } from '../src/testing/index.js';

const CHANNELS = ['refused', 'acquired', 'begun', 'statement', 'finishing', 'finished'].map(
  (name) => `ambit:transaction:${name}`,
);

let heard: { readonly name: string; readonly message: Record<string, unknown> }[] = [];
const hear = (message: unknown, name: string | symbol): void =>
  void heard.push({
    name: String(name).replace('ambit:transaction:', ''),
    message: message as Record<string, unknown>,
  });

function listen(): void {
  heard = [];
  for (const name of CHANNELS) subscribe(name, hear);
}

afterEach(() => {
  for (const name of CHANNELS) unsubscribe(name, hear);
});

function requestOn(pool: FakePool): Container {
  const app = new Container();
  app.register('IDatabasePool', () => pool);
  return app.createScope({ tags: ['request'] });
}

it('publishes a transaction from its connection to its COMMIT', async () => {
  const request = requestOn(new FakePool());
  listen();

  const transaction = await beginTransaction(request);
  await transaction.scope.resolve<IConnection>('IConnection').query('INSERT order', ['a secret']);
  await transaction.commit();

  const { scope } = transaction;
  const milliseconds = expect.any(Number) as number;
  expect(heard).toEqual([
    { name: 'acquired', message: { parent: request, scope, milliseconds, by: expect.any(Object) as object } },
    { name: 'begun', message: { scope, milliseconds } },
    { name: 'statement', message: { scope, sql: 'INSERT order', milliseconds, rows: 0 } },
    { name: 'finishing', message: { scope } },
    { name: 'finished', message: { scope, outcome: 'committed', milliseconds } },
  ]);
});

it('publishes who took a connection of which pool, and its release', async () => {
  const pool = new FakePool();
  const heardAll: Record<string, unknown>[] = [];
  const names = ['ambit:connection:acquired', 'ambit:connection:released', 'ambit:transaction:acquired'];
  const listener = (message: unknown): void => void heardAll.push(message as Record<string, unknown>);
  for (const name of names) subscribe(name, listener);
  onTestFinished(() => names.forEach((name) => unsubscribe(name, listener)));
  await (await beginTransaction(requestOn(pool))).commit();
  const [acquired, ofTransaction, released, ...more] = heardAll;
  expect(acquired).toMatchObject({ pool, by: ofTransaction?.['by'] });
  expect([released, more]).toEqual([{ connection: acquired?.['connection'] }, []]);
});

it('publishes a failed statement with its error, and the rollback that follows', async () => {
  const pool = new FakePool({ faultAt: (point) => ({ ms: 0, kind: point === 'query' ? 'refused' : 'none' }) });
  const transaction = await beginTransaction(requestOn(pool));
  listen();

  await transaction.connection.query('INSERT order').catch(() => undefined);
  await transaction.rollback();

  expect(heard.map(({ name, message }) => [name, message['outcome'], message['error'] instanceof Error])).toEqual([
    ['statement', undefined, true],
    ['finishing', undefined, false],
    ['finished', 'rolled back', true],
  ]);
});

it('publishes a COMMIT without a response as unknown', async () => {
  const pool = new FakePool({ faultAt: (point) => ({ ms: 0, kind: point === 'commit' ? 'lost' : 'none' }) });
  const transaction = await beginTransaction(requestOn(pool));
  listen();

  await transaction.commit().catch(() => undefined);

  expect(heard).toMatchObject([{ name: 'finishing' }, { name: 'finished', message: { outcome: 'unknown' } }]);
});

it('publishes that a pool gave no connection', async () => {
  const pool = new FakePool({ faultAt: (point) => ({ ms: 0, kind: point === 'acquire' ? 'refused' : 'none' }) });
  const request = requestOn(pool);
  listen();

  const error: unknown = await beginTransaction(request).catch((reason: unknown) => reason);

  expect(heard).toEqual([{ name: 'refused', message: { parent: request, milliseconds: expect.any(Number), error } }]);
});

it('publishes a statement within the call that sends it, and names it in the message about its result', async () => {
  const transaction = await beginTransaction(requestOn(new FakePool()));
  const sent: unknown[] = [];
  const receive = (message: unknown): void => void sent.push((message as { statement: object }).statement);
  subscribe('ambit:statement:sent', receive);
  onTestFinished(() => void unsubscribe('ambit:statement:sent', receive));
  listen();

  const running = transaction.connection.query('INSERT order');
  expect(sent).toEqual([expect.any(Object)]);
  await running;
  await transaction.commit();

  expect(heard[0]?.message['statement']).toBe(sent[0]);
});
