import { request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccessControl } from '../src/access.js';
import { createApp } from './support/app.js';
import { hosts, type RunningApp } from './support/hosts.js';

const TOKEN = 'a token that is long enough';

/** A request as the access control sees it. */
const incoming = (from: string, headers: Record<string, string>): IncomingMessage =>
  ({ socket: { remoteAddress: from }, headers: { host: 'localhost:3000', ...headers }, method: 'GET' }) as never;

describe('without a token', () => {
  const control = new AccessControl({ token: undefined, isDevelopment: true, path: '/inspector' });
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

describe('wrong tokens', () => {
  const outcomesOf = (addresses: readonly string[]): (string | number)[] => {
    const control = new AccessControl({ token: TOKEN, isDevelopment: false, path: '/inspector' });
    return addresses.map((from) => {
      const access = control.access(incoming(from, { authorization: 'Bearer wrong' }));
      return typeof access === 'object' ? 429 : access;
    });
  };
  const lastOf = (addresses: readonly string[]) => outcomesOf(addresses).at(-1);
  const ten = (address: (index: number) => string): string[] =>
    Array.from({ length: 10 }, (_, index) => address(index));

  it('are counted for each address of IPv4', () => {
    expect(lastOf([...ten(() => '10.0.0.1'), '10.0.0.1'])).toBe(429);
    expect(lastOf([...ten(() => '10.0.0.1'), '10.0.0.2'])).toBe('token required');
    expect(lastOf([...ten(() => '::ffff:10.0.0.1'), '::ffff:10.0.0.2'])).toBe('token required');
  });

  it('are counted for each network of IPv6, of whose addresses a client takes as many as it likes', () => {
    expect(lastOf([...ten((index) => `2001:db8:1:2::${index}`), '2001:db8:1:2:a:b:c:d'])).toBe(429);
    expect(lastOf([...ten((index) => `2001:db8::${index}`), '2001:db8::1:0:0:1'])).toBe(429);
    expect(lastOf([...ten((index) => `2001:db8:1:2::${index}`), '2001:db8:1:3::1'])).toBe('token required');
    expect(lastOf([...ten(() => '::1'), '::1'])).toBe(429);
  });
});

/** One handler serves all hosts. */
describe('with a token', () => {
  let app: RunningApp;
  const start = async (): Promise<void> => {
    app = await hosts[0]!.start({ container: createApp(), token: TOKEN }, {});
  };
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${app.url}/inspector${path}`, { headers });
  const login = (token: string) =>
    fetch(`${app.url}/inspector/login`, { method: 'POST', body: new URLSearchParams({ token }), redirect: 'manual' });

  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(async () => {
    vi.useRealTimers();
    await app.close();
  });

  it('asks for the token, and shows nothing without it', async () => {
    await start();
    const page = await (await get('/')).text();
    expect(page).toContain('type="password"');
    expect(page).toContain('hidden>That is not the token');
    const statuses = await Promise.all(
      ['/', '/graph', '/events', '/request?id=1'].map(async (path) => (await get(path)).status),
    );
    expect(statuses).toEqual([401, 401, 401, 401]);
  });

  it('accepts the token as a bearer token, from any host name and address', async () => {
    await start();
    expect((await get('/graph', { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    expect((await get('/graph', { authorization: `Bearer ${TOKEN}x` })).status).toBe(401);
    const response = await new Promise<IncomingMessage>((resolve) => {
      const headers = { host: 'inspected.example', authorization: `Bearer ${TOKEN}` };
      send(`${app.url}/inspector/graph`, { headers }, resolve).end();
    });
    await text(response);
    expect(response.statusCode).toBe(200);
  });

  it('accepts the token from the form, and sets a cookie that does not contain it', async () => {
    await start();
    const { status, headers } = await login(TOKEN);
    const cookie = headers.get('set-cookie') ?? '';
    expect([status, headers.get('location')]).toEqual([303, '/inspector/']);
    expect(cookie).toMatch(/; Path=\/inspector; Max-Age=28800; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(encodeURIComponent(TOKEN));
    expect((await get('/graph', { cookie: cookie.split(';', 1)[0]! })).status).toBe(200);
    expect((await get('/graph', { cookie: `ambit_inspector=${'0'.repeat(64)}` })).status).toBe(401);
  });

  it('asks for the token again after eight hours, and accepts no session with another time', async () => {
    await start();
    const [pair = ''] = ((await login(TOKEN)).headers.get('set-cookie') ?? '').split(';', 1);
    const [, until = '', proof = ''] = /=(\d+)\.(.*)/.exec(pair) ?? [];
    const later = `ambit_inspector=${Number(until) + 1}.${proof}`;
    expect((await get('/graph', { cookie: later })).status).toBe(401);
    vi.setSystemTime(Number(until) + 1);
    expect((await get('/graph', { cookie: pair })).status).toBe(401);
  });

  it('ends an open page with its session, and none that has sent the token itself', async () => {
    await start();
    const [cookie = ''] = ((await login(TOKEN)).headers.get('set-cookie') ?? '').split(';', 1);
    const ofSession = await get('/events', { cookie });
    const ofToken = (await get('/events', { authorization: `Bearer ${TOKEN}` })).body!.getReader();
    vi.setSystemTime(Date.now() + 8 * 60 * 60 * 1000 + 1);
    expect(await ofSession.text()).toContain('event: hello');
    await ofToken.read();
    expect((await ofToken.read()).done).toBe(false);
    await ofToken.cancel();
  });

  it('refuses more than ten wrong tokens of a source with 429, reports it once, and never locks out the right one', async () => {
    await start();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const [session = ''] = ((await login(TOKEN)).headers.get('set-cookie') ?? '').split(';', 1);
    for (let i = 0; i < 5; i++) {
      expect((await login('a token that is wrong')).status).toBe(401);
      expect((await get('/graph', { authorization: 'Bearer wrong' })).status).toBe(401);
    }
    const refused = await login('a token that is wrong');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect((await get('/graph', { authorization: 'Bearer wrong' })).status).toBe(429);
    expect((await get('/graph', { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    expect((await get('/graph', { cookie: session })).status).toBe(200);
    expect((await login(TOKEN)).status).toBe(303);
    vi.setSystemTime(Date.now() + 60_001);
    expect((await get('/graph', { authorization: 'Bearer wrong' })).status).toBe(401);
    process.off('warning', onWarning);
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^Somebody guesses the token of the inspector: more than 10 wrong ones came from \S*127\.0\.0\.1$/,
      ),
    ]);
  });

  it('responds to HEAD, asks again after a wrong token, and refuses a form that is too long', async () => {
    await start();
    const headers = { authorization: `Bearer ${TOKEN}` };
    for (const path of ['/events', '/graph'])
      expect((await fetch(`${app.url}/inspector${path}`, { method: 'HEAD', headers })).status).toBe(200);
    const response = await login('a token that is wrong');
    expect([response.status, response.headers.get('set-cookie')]).toEqual([401, null]);
    expect(await response.text()).toContain('role="alert">That is not the token');
    for (const length of [10_000, 1_000_000]) expect((await login('x'.repeat(length))).status).toBe(413);
  });
});
