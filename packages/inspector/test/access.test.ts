import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ContainerError } from '@ambit/container';
import { AccessControl } from '../src/access.js';
import { Inspector, type InspectorOptions } from '../src/index.js';
import { settingsOf } from '../src/options.js';
import { createApp, hosts, type RunningApp } from './support/app.js';

const TOKEN = 'a token that is long enough';

/** A request as the access control sees it. */
const incoming = (from: string, headers: Record<string, string>): IncomingMessage =>
  ({ socket: { remoteAddress: from }, headers: { host: 'localhost:3000', ...headers }, method: 'GET' }) as never;

const PAGE = { 'sec-fetch-site': 'cross-site' };
const LINK = { ...PAGE, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const THERE = ['10.0.0.1', '::ffff:10.0.0.1', '2001:db8::1', '1.127.0.0.1'];
const PROXIED =
  'x-forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-port forwarded via x-real-ip x-client-ip cf-connecting-ip true-client-ip';
const OTHERS = ['evil.example', 'localhost.evil.example', 'evil.example:3000', ''];

describe('without a token', () => {
  it.each<[what: string, access: string, from: readonly string[], headers: readonly Record<string, string>[]]>([
    ['this machine', 'granted', ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'], [{}]],
    ['other machines', 'refused', THERE, [{}, { 'x-forwarded-for': '127.0.0.1' }]],
    ['a proxy', 'refused', ['127.0.0.1'], PROXIED.split(' ').map((name) => ({ [name]: '127.0.0.1' }))],
    ['other headers', 'granted', ['::1'], [{ 'x-request-id': '1', 'accept-language': 'en' }]],
    ['its names', 'granted', ['::1'], ['localhost', '127.0.0.1:80', '[::1]:3000'].map((host) => ({ host }))],
    ['other names', 'refused', ['::1'], OTHERS.map((host) => ({ host }))],
    ['another site', 'refused', ['::1'], [PAGE, { ...LINK, 'sec-fetch-dest': 'iframe' }]],
    ['a link of another site', 'granted', ['::1'], [LINK]],
  ])('%s: %s', (_, access, from, headers) => {
    const control = new AccessControl({ token: undefined, isDevelopment: true });
    const found = from.flatMap((one) => headers.map((sent) => control.access(incoming(one, sent))));
    expect([...new Set(found)]).toEqual([access]);
  });
});

/** One handler serves all hosts. */
describe('with a token', () => {
  let app: RunningApp;
  const get = (path: string, authorization = '', method = 'GET') =>
    fetch(`${app.url}/inspector${path}`, { method, headers: { authorization } });
  const basic = (token: string): string => `Basic ${Buffer.from(`anybody:${token}`).toString('base64')}`;

  beforeEach(async () => {
    app = await hosts[0]!.start({ container: createApp(), token: TOKEN }, {});
  });
  afterEach(() => app.close());

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
});

describe('the options', () => {
  it.each<[string, Partial<Record<keyof InspectorOptions, unknown>>]>([
    ['inspector({ container }) needs the application container', { container: {} }],
    ["path must be like '/inspector'", { path: '/' }],
    ['token must have at least 16 characters', { token: 'short' }],
    ['slowMs must be a number above 0', { slowMs: Number.NaN }],
  ])('are refused with the reason: %s', (reason, options) => {
    const make = (): unknown => new Inspector({ container: createApp(), ...options } as InspectorOptions);
    expect(make).toThrow(ContainerError);
    expect(make).toThrow(reason);
    expect(make).toThrow(/ \[npx ambit explain AMBIT_OPTION\]$/);
  });

  // Every client behind nginx with `proxy_pass http://127.0.0.1:3000;` alone looks like one of this machine.
  it.each([undefined, '', 'production', 'staging'])('show nothing without a token where NODE_ENV is %s', (mode) => {
    vi.stubEnv('NODE_ENV', mode);
    const settings = settingsOf({ container: createApp() });
    expect(() => settingsOf({ container: createApp(), enabled: true })).toThrow('enabled: true needs a token');
    expect(settingsOf({ container: createApp(), enabled: true, token: TOKEN }).enabled).toBe(true);
    vi.unstubAllEnvs();
    expect(new AccessControl(settings).access(incoming('127.0.0.1', {}))).toBe('refused');
  });
});
