import { AsyncLocalStorage } from 'node:async_hooks';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { Container, onDispose, Registration, singleton } from '../src/index.js';
import { gate, holding, logged, slow, turn } from './support/disposers.js';

function family() {
  const app = new Container({ tags: ['application'] });
  const request = app.createScope({ tags: ['request'] });
  return { app, request, transaction: request.createScope({ tags: ['transaction'] }) };
}

describe('the order of disposal', () => {
  it('the instances of a scope are disposed one after another, the newest first', async () => {
    const log: string[] = [];
    const app = new Container();
    for (const key of ['A', 'B', 'C']) holding(app, slow(log, key));
    await app.dispose();
    expect(log).toEqual([
      'C is disposing',
      'C disposed',
      'B is disposing',
      'B disposed',
      'A is disposing',
      'A disposed',
    ]);
  });

  it('synchronous disposers keep their turn among asynchronous ones', async () => {
    const log: string[] = [];
    const app = new Container();
    const disposers = [logged(log, 'A'), slow(log, 'B'), logged(log, 'C'), slow(log, 'D')];
    for (const end of disposers) holding(app, end);
    await app.dispose();
    expect(log).toEqual(['D is disposing', 'D disposed', 'C', 'B is disposing', 'B disposed', 'A']);
  });

  it('children do not wait for one another, and their parent waits for all of them', async () => {
    const log: string[] = [];
    const { opened, open } = gate();
    const app = holding(new Container(), logged(log, 'application'));
    holding(app.createScope(), slow(log, 'older'));
    const newer = slow(log, 'newer', () => opened);
    holding(app.createScope(), newer);
    const disposed = app.dispose();
    await turn();
    await turn();
    expect(log).toEqual(['newer is disposing', 'older is disposing', 'older disposed']);
    open();
    await disposed;
    expect(log.slice(3)).toEqual(['newer disposed', 'application']);
  });

  it('a parent waits for a child that is being disposed already, and does not dispose it twice', async () => {
    const log: string[] = [];
    const { opened, open } = gate();
    const { app, request } = family();
    holding(app, logged(log, 'pool'));
    const users = slow(log, 'users', () => opened);
    holding(request, users);
    const child = request.dispose();
    const parent = app.dispose();
    await turn();
    expect(log).toEqual(['users is disposing']);
    open();
    await Promise.all([child, parent]);
    expect(log).toEqual(['users is disposing', 'users disposed', 'pool']);
  });

  it('what the caller of dispose keeps in an AsyncLocalStorage is available in every disposer', async () => {
    const log: unknown[] = [];
    const store = new AsyncLocalStorage<string>();
    const app = new Container();
    const looking = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      onDispose(async () => {
        await turn();
        log.push(store.getStore());
      }),
    );
    for (const owner of [app, app.createScope()]) {
      owner.addRegistration(looking.to('A'), looking.to('B'));
      owner.resolve('A');
      owner.resolve('B');
    }
    await store.run('trace 7', () => app.dispose());
    expect(log).toEqual(Array(4).fill('trace 7'));
  });

  it('a disposer is awaited whatever realm its promise comes from', async () => {
    const log: string[] = [];
    const Foreign = runInNewContext('Promise') as PromiseConstructor;
    const file = Registration.fromFactory(() => ({
      dispose: () => Foreign.resolve(turn()).then(() => log.push('file')),
    }));
    const app = holding(new Container(), logged(log, 'pool'));
    await holding(app, file.pipe(singleton())).dispose();
    expect(log).toEqual(['file', 'pool']);
  });
});

describe('with synchronous disposers, everything is disposed when dispose() returns', () => {
  it.each([
    ['in one scope', ['request'], ['request']],
    ['in a scope and its child', ['request', 'transaction'], ['transaction', 'request']],
    ['in three scopes', ['app', 'request', 'transaction'], ['transaction', 'request', 'app']],
  ] as const)('%s', async (_, owners, order) => {
    const log: string[] = [];
    const scopes = family();
    for (const owner of owners) holding(scopes[owner], logged(log, owner));
    const disposed = scopes[owners[0]].dispose();
    expect(log).toEqual(order);
    await disposed;
  });

  it('in an application that was started', async () => {
    const log: string[] = [];
    const app = holding(new Container(), logged(log, 'pool'));
    await app.start();
    const disposed = app.dispose();
    expect(log).toEqual(['pool']);
    await disposed;
  });
});
