import { openScopes } from '@ambit/container/tools';
import type express from 'express';
import { describe, expect, it } from 'vitest';
import { resolve, withDeps, containerMiddleware } from '../src/index.js';
import { respondToError, application, serve } from './support/app.js';

describe('resolve()', () => {
  it('says what is missing where no middleware ran', () => {
    expect(() => resolve({} as express.Request, 'IGreeting')).toThrow(
      expect.objectContaining({ code: 'AMBIT_NO_SCOPE' }),
    );
  });
});

describe('withDeps()', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
      'broken',
    ],
    ['rejects', () => Promise.reject(new Error('broken')), 'broken'],
    ['rejects with nothing', () => Promise.reject(undefined), 'The handler failed, and gave no reason'],
  ])('passes it on when the handler %s', async (_name, handler, error) => {
    const { app } = application();
    app.get('/', withDeps({}, handler));
    app.use(respondToError);
    expect(await (await (await serve(app)).fetch('/')).json()).toEqual({ error });
  });
});

describe('a request scope', () => {
  it('is disposed for both when the middleware is mounted twice', async () => {
    const { app, container } = application();
    app.get('/', containerMiddleware(container), (_req, res) => res.json(openScopes(container).length));
    const { fetch, close } = await serve(app);
    expect(await (await fetch('/')).json()).toBe(2);
    await close();
    expect(openScopes(container)).toEqual([]);
  });
});
