import { describe, expect, test } from 'vitest';
import { readConfig, startService } from '../src/index.js';
import { LogOutput } from '../src/logging/logger.js';
import { request } from './support/http.js';

const QUIET = { PORT: '0', DATA_DIR: ':memory:', LOG_LEVEL: 'info', INSPECTOR: 'always', NODE_ENV: 'development' };

/** What the test reads of a recorded request. */
interface Recorded {
  readonly requestId: string;
  readonly route: string;
  readonly steps: readonly {
    readonly kind: string;
    readonly sql?: string;
    readonly where?: string;
    readonly outside?: boolean;
    readonly line?: { readonly source: string; readonly level: string; readonly text: string };
  }[];
}

/** Keeps the log off the terminal. */
class Lines extends LogOutput {
  readonly all: Record<string, unknown>[] = [];

  override write(line: string): void {
    this.all.push(JSON.parse(line) as Record<string, unknown>);
  }
}

describe('with INSPECTOR=always', () => {
  const start = async (env: Record<string, string> = {}) => {
    const output = new Lines();
    const service = await startService(readConfig({ ...QUIET, ...env }), { output });
    const recorded = async (id: number): Promise<Recorded> =>
      (await (await fetch(`${service.url}/inspector/request?id=${id}`)).json()) as Recorded;
    return { service, output, recorded, [Symbol.asyncDispose]: () => service.stop() };
  };
  const user = { method: 'POST', path: '/api/users', body: { name: 'Ada', email: 'ada@example.com' } } as const;

  test('the log line of a request has its address in the inspector', async () => {
    await using app = await start();
    const { headers } = await request(app.service.url, user);
    expect(await app.recorded(1)).toMatchObject({ route: '/api/users' });
    const link = headers.get('x-debug-token-link');
    expect(link).toMatch(/^\/inspector\/#\/requests\/[\da-f]{8}-1$/);
    await expect.poll(() => app.output.all.find(({ msg }) => msg === 'request')).toMatchObject({ inspector: link });
  });

  test('the statements of GET /api/users are shown, outside of a transaction, with their line', async () => {
    await using app = await start();
    await request(app.service.url, { path: '/api/users' });
    const { steps } = await app.recorded(1);
    const statements = steps.filter(({ kind }) => kind === 'statement');
    expect(statements.length).toBeGreaterThan(0);
    for (const { sql, outside, where } of statements) {
      expect([outside, sql]).toEqual([true, expect.stringContaining('users')]);
      expect(where).toMatch(/^service\/src\/users\/.*\.ts:\d+:\d+$/);
    }
  });
});
