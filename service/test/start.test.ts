import { execFileSync } from 'node:child_process';
import { hasSubscribers } from 'node:diagnostics_channel';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { readConfig, startService } from '../src/index.js';
import { listening } from './support/ports.js';
import { ServiceProcess } from './support/service-process.js';

test('the entry point of the service loads no framework before one is chosen, though it exports routes for one', () => {
  const program = `
    import { Module } from 'node:module';
    await import('${new URL('../dist/index.js', import.meta.url).href}');
    const frameworks = /node_modules\\/(express|fastify)\\//;
    console.log(Object.keys(Module._cache).filter((file) => frameworks.test(file)).length);`;
  expect(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })).toBe('0\n');
});

describe('the service', () => {
  describe.each(HOST_VARIANTS)('reports in one line that it cannot listen, with %s', (HOST_VARIANT) => {
    const failsToListen = async (env: Record<string, string>): Promise<unknown[]> => {
      const { code, output } = await new ServiceProcess({ HOST_VARIANT, DATA_DIR: ':memory:', ...env }).exit;
      return [code, JSON.parse(output)];
    };
    const failure = (HOST: string, PORT: string): unknown => [
      1,
      { level: 50, time: expect.any(String), msg: expect.stringContaining(`HOST=${HOST} and PORT=${PORT}: `) },
    ];

    test('where HOST is no address of this machine, or a name that cannot exist', async () => {
      for (const HOST of ['203.0.113.1', 'two..dots'])
        expect(await failsToListen({ HOST })).toEqual(failure(HOST, '0'));
    });

    test('where PORT is in use', async () => {
      const taken = createServer();
      const PORT = String(await listening(taken));
      expect(await failsToListen({ PORT })).toEqual(failure('127.0.0.1', PORT));
      taken.close();
    });
  });

  test.each(HOST_VARIANTS)(
    'that fails to start releases everything that it has opened, with %s',
    async (HOST_VARIANT) => {
      const env = { HOST_VARIANT, METRICS: '1', DATA_DIR: ':memory:', LOG_LEVEL: 'silent' };
      const config = { ...readConfig(env), inspector: { token: 'short', always: false, lines: false } };
      await expect(startService(config)).rejects.toThrow('token must have at least 16 characters');
      expect(hasSubscribers('ambit:scope:opened')).toBe(false);
    },
  );
});
