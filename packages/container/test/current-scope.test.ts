import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { Container, ContainerError, currentScope, runInScope, type IContainer } from '../src/index.js';
import { gate, turn } from './support/disposers.js';

const open = (tag = 'request') => new Container().createScope({ tags: [tag] });

describe('the current scope', () => {
  it('is there after every await, in timers and in what the work starts without waiting', async () => {
    const request = open();
    const seen: IContainer[] = [];
    const unwaited: Promise<unknown>[] = [];
    await runInScope(request, async () => {
      await turn();
      seen.push(currentScope());
      await new Promise<void>((resolve) => void setTimeout(resolve));
      seen.push(currentScope());
      unwaited.push(turn().then(() => seen.push(currentScope())));
    });
    await Promise.all(unwaited);
    expect(seen).toEqual([request, request, request]);
  });

  it('is a coded error outside, which says how to have one', () => {
    const error = (() => {
      try {
        return currentScope();
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(ContainerError);
    expect(error).toMatchObject({ code: 'AMBIT_NO_SCOPE', hint: expect.stringContaining('runInScope') });
  });

  it('is opt-in: neither opening a scope nor resolving from it makes it the current one', () => {
    const request = open().register('IProbe', () => {
      expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE');
      return 'asked';
    });
    expect(request.resolve('IProbe')).toBe('asked');
  });

  it('is unset when the work is done, however it was done', async () => {
    runInScope(open(), () => {});
    expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE');
    expect(() => runInScope(open(), () => expect.fail('the work failed'))).toThrow('the work failed');
    expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE');
    await runInScope(open(), turn);
    expect(() => currentScope()).toThrow('AMBIT_NO_SCOPE');
  });

  it('gives back what the work returns, or throws what it throws', async () => {
    const error = new RangeError('unchanged');
    expect(runInScope(open(), () => 42)).toBe(42);
    await expect(runInScope(open(), () => Promise.reject(error))).rejects.toBe(error);
  });

  it('is each request its own, however they interleave', async () => {
    const app = new Container();
    const gates = Array.from({ length: 10 }, gate);
    const requests = gates.map(() => app.createScope({ tags: ['request'] }));
    const seen = requests.map((request, i) =>
      runInScope(request, async () => {
        const before = currentScope();
        await gates[i]?.opened;
        return [before, currentScope()];
      }),
    );
    for (const i of [3, 9, 0, 7, 1, 8, 2, 6, 4, 5]) {
      gates[i]?.open();
      await turn();
    }
    for (const [i, both] of (await Promise.all(seen)).entries()) {
      expect(both[0]).toBe(requests[i]);
      expect(both[1]).toBe(requests[i]);
    }
  });

  it('is available in disposers, beside other stores of the caller', async () => {
    const seen: unknown[] = [];
    const trace = new AsyncLocalStorage<string>();
    const request = open();
    const look = async () => {
      await turn();
      seen.push(currentScope() === request, trace.getStore());
    };
    request.defer(look);
    request.defer(look);
    await trace.run('trace 7', () => runInScope(request, () => request.dispose()));
    expect(seen).toEqual([true, 'trace 7', true, 'trace 7']);
  });

  it('is what the caller says, where there is none', () => {
    const request = open();
    expect([currentScope(undefined), currentScope('none')]).toEqual([undefined, 'none']);
    expect(runInScope(request, () => currentScope(undefined))).toBe(request);
  });

  it('may be any object of the shape of a container', () => {
    const foreign: IContainer = {
      resolve: () => undefined as never,
      createScope: () => foreign,
      register: () => foreign,
      dispose: () => {},
    };
    expect(runInScope(foreign, currentScope)).toBe(foreign);
  });
});
