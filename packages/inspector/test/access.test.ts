import type { IncomingMessage } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ContainerError } from '@ambit/container';
import { accessOf } from '../src/access.js';
import { Inspector, type InspectorOptions } from '../src/index.js';
import { settingsOf } from '../src/options.js';
import { createApp, hosts, TOKEN } from './support/app.js';

/** A request as the access control sees it. */
const incoming = (from: string, headers: Record<string, string>): IncomingMessage =>
  ({ socket: { remoteAddress: from }, headers: { host: 'localhost:3000', ...headers }, method: 'GET' }) as never;
const sends = (authorization: string) => ({ host: 'inspected.example', authorization });
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

const HERE = ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'];
const THERE = ['10.0.0.1', '::ffff:10.0.0.1', '2001:db8::1', '1.127.0.0.1'];
const PAGE = { 'sec-fetch-site': 'cross-site' };
const LINK = { ...PAGE, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const PROXIED =
  'x-forwarded x-forwarded-for x-forwarded-host x-forwarded-proto x-forwarded-port forwarded via x-real-ip x-client-ip cf-connecting-ip true-client-ip';
const NAMES = ['localhost', '127.0.0.1:80', '[::1]:3000'];
const OTHERS = ['evil.example', 'localhost.evil.example', 'evil.example:3000', ''];
const RIGHT = [sends(`Bearer ${TOKEN}`), sends(basic(`anybody:${TOKEN}`)), sends(basic(`:${TOKEN}`))];
const WRONG = [{}, sends(`Bearer ${TOKEN}x`), sends(`Basic ${TOKEN}`), sends(basic(TOKEN)), sends(TOKEN)];

it.each<[what: string, access: string, from: string[], headers: Record<string, string>[], token?: string]>([
  ['this machine', 'granted', HERE, [{}, { 'x-request-id': '1', 'accept-language': 'en' }]],
  ['other machines', 'refused', THERE, [{}, { 'x-forwarded-for': '127.0.0.1' }]],
  ['a proxy', 'refused', HERE, PROXIED.split(' ').map((name) => ({ [name]: '127.0.0.1' }))],
  ['its names', 'granted', HERE, NAMES.map((host) => ({ host }))],
  ['other names', 'refused', HERE, OTHERS.map((host) => ({ host }))],
  ['another site', 'refused', HERE, [PAGE, { ...LINK, 'sec-fetch-dest': 'iframe' }]],
  ['a link of another site', 'granted', HERE, [LINK]],
  ['an agent and a browser with the token', 'granted', [...HERE, ...THERE], RIGHT, TOKEN],
  ['others, where there is a token', 'token required', [...HERE, ...THERE], WRONG, TOKEN],
  ['another site with the token', 'refused', HERE, RIGHT.map((sent) => ({ ...sent, ...PAGE })), TOKEN],
])('access of %s: %s', (_, access, from, headers, token) => {
  const settings = { token, isDevelopment: true };
  const found = from.flatMap((one) => headers.map((sent) => accessOf(incoming(one, sent), settings)));
  expect([...new Set(found)]).toEqual([access]);
});

/** One handler serves all hosts. */
it('with a token, each path asks for it', async () => {
  const app = await hosts[0]!.start({ container: createApp(), token: TOKEN }, {});
  onTestFinished(() => app.close());
  for (const path of ['/', '/graph', '/state', '/request?id=1', '/assets/page.js']) {
    const ask = (authorization: string) => fetch(`${app.url}/inspector${path}`, { headers: { authorization } });
    const [refused, shown] = [await ask(''), await ask(`Bearer ${TOKEN}`)];
    expect([path, refused.status, await refused.text()]).toEqual([path, 401, expect.stringMatching(/^Send the token/)]);
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer, Basic .*, charset="UTF-8"$/);
    expect([path, shown.status]).toEqual([path, path.startsWith('/request') ? 404 : 200]);
  }
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
    expect(accessOf(incoming('127.0.0.1', {}), settings)).toBe('refused');
  });
});
