import { describe, expect, it, vi } from 'vitest';
import { Container } from '../src/index.js';
import { failing, holding, logged } from './support/disposers.js';

describe('a callback given to defer', () => {
  it('runs in its turn among the instances, the newest first', async () => {
    const log: string[] = [];
    const request = holding(new Container().createScope(), logged(log, 'IUsers'));
    request.defer(() => log.push('deferred'));
    holding(request, logged(log, 'IOrders'));
    await request.dispose();
    expect(log).toEqual(['IOrders', 'deferred', 'IUsers']);
  });

  it('runs once, called with nothing, though the scope is disposed twice', async () => {
    const end = vi.fn<(...given: unknown[]) => void>();
    const request = new Container().createScope();
    request.defer(end);
    expect(end).not.toHaveBeenCalled();
    await Promise.all([request.dispose(), request.dispose()]);
    expect(end).toHaveBeenCalledOnce();
    expect(end.mock.lastCall?.[0]).toBeUndefined();
  });

  it.each([
    [
      'throws',
      (error: Error) => {
        throw error;
      },
    ],
    [
      'rejects',
      async (error: Error) => {
        throw error;
      },
    ],
  ])('does not keep anything else from disposal when it %s', async (_, cleanup) => {
    const log: string[] = [];
    const request = holding(new Container().createScope(), logged(log, 'IUsers'));
    request.defer(() => cleanup(new Error('not now')));
    holding(request, failing(new Error('nor me')));
    await expect(request.dispose()).rejects.toMatchObject({
      code: 'AMBIT_DISPOSE_FAILED',
      errors: [{ message: 'nor me' }, { message: 'not now' }],
    });
    expect(log).toEqual(['IUsers']);
  });

  it('cannot be added by a disposer: the scope is being disposed already', async () => {
    const late = vi.fn<() => void>();
    const request = new Container().createScope();
    request.defer(() => request.defer(late));
    await expect(request.dispose()).rejects.toMatchObject({ errors: [{ code: 'AMBIT_DISPOSED' }] });
    expect(late).not.toHaveBeenCalled();
  });
});
