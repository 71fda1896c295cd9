import { signal } from '@ambit/host-contract';
import type { Container } from '@ambit/container';
import { fastify, type FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { containerPlugin } from '../src/index.js';
import { application } from './support/app.js';

describe('a scope that fails to dispose', () => {
  const failing = (request: FastifyRequest): string => {
    (request.container as Container).defer(() => Promise.reject(new Error('cannot end')));
    return 'hello';
  };

  test('is reported to onDisposeError, and the client notices nothing', async () => {
    const reported = signal<{ error: unknown; url: string }>();
    const { app } = await application({
      plugin: { onDisposeError: (error, { url }) => reported.resolve({ error, url }) },
    });
    app.get('/', failing);

    expect((await app.inject('/')).body).toBe('hello');
    expect(await reported.promise).toMatchObject({
      url: '/',
      error: { message: expect.stringContaining('cannot end') },
    });
  });

  test.each(['throws', 'rejects'])(
    'is reported to the log of the request by default, and when the reporter %s',
    async (how) => {
      const lines: string[] = [];
      const app = fastify({ logger: { level: 'error', stream: { write: (line) => void lines.push(line) } } });
      const { container } = await application();
      const onDisposeError = (): never => {
        throw new Error('the reporter failed');
      };
      await app.register(async (silent) => {
        await silent.register(containerPlugin, { container });
        silent.get('/silent', failing);
      });
      await app.register(async (loud) => {
        const reporter = how === 'throws' ? onDisposeError : async () => onDisposeError();
        await loud.register(containerPlugin, { container, onDisposeError: reporter });
        loud.get('/loud', failing);
      });

      await app.inject('/silent');
      await app.inject('/loud');

      await expect.poll(() => lines).toHaveLength(2);
      expect(lines[0]).toContain('cannot end');
      expect(lines[1]).toContain('the reporter failed');
      await app.close();
    },
  );
});
