import { signal } from '@ambit/host-contract';
import type { IContainer } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { describe, expect, it, vi } from 'vitest';
import express from 'express';
import { containerMiddleware, resolve } from '../src/index.js';
import { application, registerEnding, serve } from './support/app.js';

describe('a scope that fails to dispose', () => {
  const failures: readonly [how: string, end: () => unknown][] = [
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ];

  it.each(failures)('is reported to onDisposeError when an instance %s', async (_how, end) => {
    const reported = signal<unknown>();
    const { app, container } = application({
      scope: { onDisposeError: (error, req) => reported.resolve([error, req.url]) },
    });
    registerEnding(container, end);
    app.get('/here', (req, res) => {
      resolve(req, 'IEnding');
      res.end('done');
    });
    const { fetch } = await serve(app);
    expect((await fetch('/here')).status).toBe(200);
    expect(await reported.promise).toEqual([expect.objectContaining({ code: 'AMBIT_DISPOSE_FAILED' }), '/here']);
    expect(openScopes(container)).toEqual([]);
  });

  it('is reported to onDisposeError when a container of another implementation throws at once', async () => {
    const reported = signal<unknown>();
    const broken: IContainer = {
      createScope: () => broken,
      resolve: <T>() => undefined as T,
      register: () => undefined,
      dispose: () => {
        throw new Error('broken');
      },
    };
    const app = express().use(containerMiddleware(broken, { onDisposeError: reported.resolve }));
    const { fetch } = await serve(app);
    expect((await fetch('/')).status).toBe(404);
    expect(await reported.promise).toEqual(new Error('broken'));
  });

  it('is printed without a reporter, and so is the failure of a reporter that fails', async () => {
    const reported = signal();
    const printed: unknown[] = [];
    const print = vi.spyOn(console, 'error').mockImplementation((error: unknown) => {
      if (printed.push(error) === 2) reported.resolve();
    });
    // An async function where none is expected: what it rejects with must not be lost.
    const deaf = (): unknown => Promise.reject(new Error('deaf'));
    const { app, container } = application({
      scope: { onDisposeError: deaf },
    });
    registerEnding(container, () => Promise.reject(new Error('broken')));
    app.get('/', (req, res) => {
      resolve(req, 'IEnding');
      res.end('done');
    });
    const { fetch } = await serve(app);
    await fetch('/');
    await reported.promise;
    print.mockRestore();
    expect(printed).toEqual([expect.objectContaining({ code: 'AMBIT_DISPOSE_FAILED' }), new Error('deaf')]);
  });
});
