import { createServer } from 'node:http';
import type { IContainer } from '@ambit/container';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, disposeOnSignal, drain, withTransaction } from '../src/index.js';
import { application } from './support/app.js';

const INVALID = { code: 'AMBIT_OPTION' };
const TIMES: readonly unknown[] = [Number.NaN, -1, null, '500'];

describe('an invalid option is refused where it is given:', () => {
  it.each(TIMES)('drain() with timeoutMs %s, and the server goes on', async (timeoutMs) => {
    const server = createServer();
    await expect(drain(server, { timeoutMs: timeoutMs as number })).rejects.toMatchObject(INVALID);
    expect(server.listenerCount('request')).toBe(0);
  });

  it.each(TIMES)('disposeOnSignal() with a time of %s', (time) => {
    const ms = time as number;
    const before = process.listenerCount('SIGTERM');
    for (const options of [{ timeoutMs: ms }, { disposeTimeoutMs: ms }, { onError: ms as never }]) {
      expect(() => disposeOnSignal(createServer(), application().container, options)).toThrow(
        expect.objectContaining(INVALID),
      );
    }
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });

  it.each(['rollbackOn', 'onSecondResponse', 'onError'])('withTransaction() with a %s that is no function', (name) => {
    expect(() => withTransaction({ [name]: 1 })).toThrow(expect.objectContaining(INVALID));
  });

  it.each([{ isolation: 'snapshot' }, { readOnly: 1 }, { pool: 'IOtherPool' }])(
    'withTransaction() with %o',
    (terms) => {
      expect(() => withTransaction(terms as never)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
    },
  );

  it.each<unknown>([undefined, null, {}, 'container'])('%s in place of the application container', (given) => {
    const container = given as IContainer;
    expect(() => containerMiddleware(container)).toThrow(expect.objectContaining(INVALID));
    expect(() => disposeOnSignal(createServer(), container)).toThrow(expect.objectContaining(INVALID));
  });
});
