import { describe, expect, it, vi } from 'vitest';
import { Container, DisposeError, onDispose, Registration, singleton } from '../src/index.js';
import { failing, holding, logged, turn } from './support/disposers.js';

const request = () => new Container({ tags: ['application'] }).createScope({ tags: ['request'] });

// oxlint-disable-next-line unicorn/no-thenable -- a thenable that is no promise is the point
const thenable = { then: (_: unknown, reject: (why: Error) => void) => reject(new Error('lost')) };

/** What the promise rejects with. */
const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error,
  );

describe('a disposer that fails', () => {
  it('keeps no other disposer from being tried, and all failures come together, in the order of disposal', async () => {
    const log: string[] = [];
    const [first, second] = [new Error('first'), new Error('second')];
    const app = new Container().addRegistration(
      logged(log, 'IPool').to('IPool'),
      failing(second).to('IUsers'),
      logged(log, 'IAudit').to('IAudit'),
      failing(first).to('IOrders'),
    );
    for (const key of ['IPool', 'IUsers', 'IAudit', 'IOrders']) app.resolve(key);
    const error = await failureOf(app.dispose());
    expect(error).toBeInstanceOf(DisposeError);
    expect(error).toBeInstanceOf(AggregateError);
    expect((error as DisposeError).errors).toEqual([first, second]);
    expect((error as DisposeError).failures.map(({ key }) => key)).toEqual(['IOrders', 'IUsers']);
    expect(log).toEqual(['IAudit', 'IPool']);
  });

  it.each([
    ['throws', () => expect.fail('lost')],
    ['rejects', () => Promise.reject(new Error('lost'))],
    ['takes its time and then rejects', () => turn().then(() => expect.fail('lost'))],
    ['returns a thenable that rejects', () => thenable],
  ])('that %s makes the promise reject, not the call throw, with one AggregateError', async (_, cleanup) => {
    const owner = holding(request(), Registration.fromFactory(() => ({ dispose: cleanup })).pipe(singleton()));
    expect(await failureOf(owner.dispose())).toMatchObject({
      code: 'AMBIT_DISPOSE_FAILED',
      errors: [{ message: 'lost' }],
    });
  });

  it('cannot even be looked at: that is its failure, and the rest is disposed', async () => {
    const log: string[] = [];
    let broken = false;
    const fragile = Registration.fromFactory(() => ({
      get dispose() {
        return broken ? expect.fail('do not look') : () => {};
      },
    })).pipe(singleton());
    const owner = holding(holding(request(), logged(log, 'IPool')), fragile);
    broken = true;
    expect(await failureOf(owner.dispose())).toMatchObject({ errors: [{ message: 'do not look' }] });
    expect(log).toEqual(['IPool']);
  });

  it('does not keep a second onDispose of the same instance from running', async () => {
    const second = vi.fn<() => void>();
    const both = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      onDispose(() => expect.fail('the first')),
      onDispose(second),
    );
    expect(await failureOf(holding(request(), both).dispose())).toMatchObject({ errors: [{ message: 'the first' }] });
    expect(second).toHaveBeenCalledOnce();
  });

  it('gives every later dispose the same rejected promise', async () => {
    const owner = holding(request(), failing(new Error('once')));
    const first = owner.dispose();
    await failureOf(first);
    expect(owner.dispose()).toBe(first);
  });

  it('says in the message which keys failed to dispose, where, and why', async () => {
    const owner = request().addRegistration(failing(new Error('the disk is full')).to('IAudit'));
    owner.resolve('IAudit');
    const { message, failures } = (await failureOf(owner.dispose())) as DisposeError;
    expect(message).toMatch(/'IAudit'.*\[application\] > \[request\].*the disk is full/);
    expect(failures).toMatchObject([{ key: 'IAudit', tags: [['application'], ['request']] }]);
  });
});

describe('a disposer that fails in a child', () => {
  it('is reported to the caller that disposed the child and to a parent that waited for it', async () => {
    const error = new Error('reported twice');
    const child = holding(request(), failing(error));
    const slowly = holding(child, Registration.fromFactory(() => ({ dispose: turn })).pipe(singleton()));
    const [own, above] = [failureOf(slowly.dispose()), failureOf(child.parent?.dispose() ?? Promise.resolve())];
    expect(await own).toMatchObject({ errors: [error] });
    expect(await above).toMatchObject({ errors: [error] });
  });

  it('is not reported by a parent that is disposed later', async () => {
    const child = holding(request(), failing(new Error('long ago')));
    await failureOf(child.dispose());
    await expect(child.parent?.dispose()).resolves.toBeUndefined();
  });
});
