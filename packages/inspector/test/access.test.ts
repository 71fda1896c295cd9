import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ContainerError } from '@ambit/container';
import { AccessControl } from '../src/access.js';
import { Inspector, type InspectorOptions } from '../src/index.js';
import { createApp, hosts, type RunningApp } from './support/app.js';

const TOKEN = 'a token that is long enough';

/** A request as the access control sees it. */
const incoming = (from: string, headers: Record<string, string>): IncomingMessage =>
  ({ socket: { remoteAddress: from }, headers: { host: 'localhost:3000', ...headers }, method: 'GET' }) as never;

describe('without a token', () => {
  const control = new AccessControl({ token: undefined, isDevelopment: true });
  /** The different outcomes of these requests. */
  const all = (requests: readonly (readonly [string, Record<string, string>])[]) => [
    ...new Set(requests.map(([from, headers]) => control.access(incoming(from, headers)))),
  ];

  it('grants access to this machine only, by its address', () => {
    expect(all(['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'].map((from) => [from, {}]))).toEqual(['granted']);
    expect(all(['10.0.0.1', '::ffff:10.0.0.1', '2001:db8::1', '1.127.0.0.1'].map((from) => [from, {}]))).toEqual([
      'refused',
    ]);
    expect(all([['10.0.0.1', { 'x-forwarded-for': '127.0.0.1' }]])).toEqual(['refused']);
  });

  it('refuses a request that a proxy has forwarded, recognised by its headers, and ignores other headers', () => {
    const forwarded = ['x-forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port'];
    const further = ['forwarded', 'via', 'x-real-ip', 'x-client-ip', 'cf-connecting-ip', 'true-client-ip'];
    expect(all([...forwarded, ...further].map((name) => ['127.0.0.1', { [name]: '127.0.0.1' }]))).toEqual(['refused']);
    expect(all([['127.0.0.1', { 'x-request-id': '1', 'accept-language': 'en' }]])).toEqual(['granted']);
  });

  it('grants access under host names of this machine only', () => {
    const own = ['localhost', 'localhost:3000', '127.0.0.1:80', '[::1]:3000'];
    expect(all(own.map((host) => ['127.0.0.1', { host }]))).toEqual(['granted']);
    const others = ['evil.example', 'localhost.evil.example', 'evil.example:3000', ''];
    expect(all(others.map((host) => ['127.0.0.1', { host }]))).toEqual(['refused']);
  });

  it('refuses requests of a page of another site, but allows a link from there', () => {
    const fromSite = { 'sec-fetch-site': 'cross-site' };
    const link = { ...fromSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect(
      all([
        ['127.0.0.1', fromSite],
        ['127.0.0.1', { ...link, 'sec-fetch-dest': 'iframe' }],
      ]),
    ).toEqual(['refused']);
    expect(all([['127.0.0.1', link]])).toEqual(['granted']);
  });
});

/** One handler serves all hosts. */
describe('with a token', () => {
  let app: RunningApp;
  const get = (path: string, authorization = '', method = 'GET') =>
    fetch(`${app.url}/inspector${path}`, { method, headers: { authorization } });
  const basic = (token: string): string => `Basic ${Buffer.from(`anybody:${token}`).toString('base64')}`;

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    app = await hosts[0]!.start({ container: createApp(), token: TOKEN }, {});
  });
  afterEach(async () => {
    vi.useRealTimers();
    await app.close();
  });

  it('asks for the token, and shows nothing without it, nor with another one', async () => {
    for (const path of ['/', '/graph', '/state', '/request?id=1', '/assets/page.js'])
      for (const sent of ['', `Bearer ${TOKEN}x`, `Basic ${TOKEN}`]) {
        const { status, headers } = await get(path, sent);
        expect([path, status, headers.get('www-authenticate')]).toEqual([
          path,
          401,
          expect.stringMatching(/^Bearer, Basic .*, charset="UTF-8"$/),
        ]);
      }
  });

  it('accepts the token of an agent and that of a browser, from any host name and address', async () => {
    for (const sent of [`Bearer ${TOKEN}`, basic(TOKEN)])
      for (const path of ['/', '/graph', '/state'])
        expect([path, (await get(path, sent, 'HEAD')).status]).toEqual([path, 200]);
    const headers = { host: 'inspected.example', authorization: `Bearer ${TOKEN}` };
    const [response] = (await once(send(`${app.url}/inspector/graph`, { headers }).end(), 'response')) as [
      IncomingMessage,
    ];
    expect([response.resume().statusCode]).toEqual([200]);
  });

  it('warns of more than ten wrong tokens within a minute, and never locks out the right one', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const guess = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++)
        expect((await get('/graph', i % 2 ? 'Bearer wrong' : basic('wrong'))).status).toBe(401);
    };
    await guess(10);
    vi.setSystemTime(Date.now() + 60_001);
    await guess(10);
    expect(warnings).toEqual([]);
    await guess(1);
    expect((await get('/graph', `Bearer ${TOKEN}`)).status).toBe(200);
    process.off('warning', onWarning);
    const message = expect.stringMatching(/: more than 10 .* within a minute, the last one from \S*127\.0\.0\.1$/);
    expect(warnings).toMatchObject([{ message }]);
  });
});

describe('the options', () => {
  it.each<[string, Partial<Record<keyof InspectorOptions, unknown>>]>([
    ['inspector({ container }) needs the application container', { container: {} }],
    ["path must be like '/inspector'", { path: '/' }],
    ['token must have at least 16 characters', { token: 'short' }],
    ['keepTrouble must be a number above 0', { keepTrouble: Number.NaN }],
    ["links must lead to a path such as '/docs'", { links: { Docs: 'javascript:alert(1)' } }],
  ])('are refused with the reason: %s', (reason, options) => {
    const make = (): unknown => new Inspector({ container: createApp(), ...options } as InspectorOptions);
    expect(make).toThrow(ContainerError);
    expect(make).toThrow(reason);
    expect(make).toThrow(/ \[AMBIT_OPTION, see docs\/errors\.md#ambit_option\]$/);
  });

  it.each([undefined, 'production', 'staging'])('refuse `enabled` without a token where NODE_ENV is %s', (mode) => {
    vi.stubEnv('NODE_ENV', mode);
    try {
      expect(() => new Inspector({ container: createApp(), enabled: true })).toThrow('enabled: true needs a token');
      expect(new Inspector({ container: createApp(), enabled: true, token: TOKEN }).enabled).toBe(true);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
