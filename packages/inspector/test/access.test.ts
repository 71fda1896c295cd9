import { request as ask } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { Doorkeeper } from '../src/access.js';
import { createApp } from './support/app.js';
import { hosts, type RunningApp } from './support/hosts.js';

const TOKEN = 'a token that is long enough';

/** A request as the doorkeeper sees it. */
const coming = (from: string, headers: Record<string, string>): IncomingMessage =>
  ({ socket: { remoteAddress: from }, headers: { host: 'localhost:3000', ...headers }, method: 'GET' }) as never;

describe('without a token', () => {
  const door = new Doorkeeper(undefined, '/inspector');

  it.each(['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])('lets in this machine: %s', (from) => {
    expect(door.access(coming(from, {}))).toBe('granted');
  });

  it.each(['10.0.0.1', '::ffff:10.0.0.1', '2001:db8::1', '1.127.0.0.1'])('refuses all others: %s', (from) => {
    expect(door.access(coming(from, {}))).toBe('refused');
  });

  it('believes no header about where a request comes from', () => {
    expect(door.access(coming('10.0.0.1', { 'x-forwarded-for': '127.0.0.1' }))).toBe('refused');
    expect(door.access(coming('127.0.0.1', { 'x-forwarded-for': '10.0.0.1' }))).toBe('refused');
  });

  it.each([
    'forwarded',
    'via',
    'x-forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-forwarded-port',
    'x-real-ip',
    'x-client-ip',
    'cf-connecting-ip',
    'true-client-ip',
  ])('refuses what a proxy passes on, known by its header %s', (name) => {
    expect(door.access(coming('127.0.0.1', { [name]: '127.0.0.1' }))).toBe('refused');
  });

  it('refuses nobody for other headers', () => {
    expect(door.access(coming('127.0.0.1', { 'x-request-id': '1', 'accept-language': 'en' }))).toBe('granted');
  });

  it.each(['localhost', 'localhost:3000', '127.0.0.1:80', '[::1]:3000'])('answers to the name %s', (host) => {
    expect(door.access(coming('127.0.0.1', { host }))).toBe('granted');
  });

  it.each(['evil.example', 'localhost.evil.example', 'evil.example:3000', ''])(
    'answers to no other name: %s',
    (host) => {
      expect(door.access(coming('127.0.0.1', { host }))).toBe('refused');
    },
  );

  it('refuses what a page of another site asks for, but follows a link from there', () => {
    const fromSite = { 'sec-fetch-site': 'cross-site' };
    const link = { ...fromSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect(door.access(coming('127.0.0.1', fromSite))).toBe('refused');
    expect(door.access(coming('127.0.0.1', { ...link, 'sec-fetch-dest': 'iframe' }))).toBe('refused');
    expect(door.access(coming('127.0.0.1', link))).toBe('granted');
  });
});

describe.each(hosts)('with a token on $name', (host) => {
  let app: RunningApp;
  const start = async (): Promise<void> => {
    app = await host.start({ container: createApp(), token: TOKEN }, {});
  };
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${app.url}/inspector${path}`, { headers });
  const login = (token: string) =>
    fetch(`${app.url}/inspector/login`, { method: 'POST', body: new URLSearchParams({ token }), redirect: 'manual' });

  afterEach(() => app.close());

  it('asks for it, and shows nothing without', async () => {
    await start();
    const page = await (await get('/')).text();
    expect(page).toContain('type="password"');
    expect(page).toContain('hidden>That is not the token');
    const statuses = await Promise.all(
      ['/', '/graph', '/events', '/requests/1'].map(async (path) => (await get(path)).status),
    );
    expect(statuses).toEqual([401, 401, 401, 401]);
  });

  it('takes it as a bearer, from any name and address', async () => {
    await start();
    expect((await get('/graph', { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    expect((await get('/graph', { authorization: `Bearer ${TOKEN}x` })).status).toBe(401);
    const answer = await new Promise<IncomingMessage>((resolve) => {
      const headers = { host: 'inspected.example', authorization: `Bearer ${TOKEN}` };
      ask(`${app.url}/inspector/graph`, { headers }, resolve).end();
    });
    await text(answer);
    expect(answer.statusCode).toBe(200);
  });

  it('takes it from the form, and remembers in a cookie that does not hold it', async () => {
    await start();
    const { status, headers } = await login(TOKEN);
    const cookie = headers.get('set-cookie') ?? '';
    expect([status, headers.get('location')]).toEqual([303, '/inspector/']);
    expect(cookie).toMatch(/; Path=\/inspector; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(encodeURIComponent(TOKEN));
    expect((await get('/graph', { cookie: cookie.split(';', 1)[0]! })).status).toBe(200);
    expect((await get('/graph', { cookie: `ambit_inspector=${'0'.repeat(64)}` })).status).toBe(401);
  });

  it('asks again after a wrong one', async () => {
    await start();
    const answer = await login('a token that is wrong');
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([401, null]);
    expect(await answer.text()).toContain('role="alert">That is not the token');
  });

  it.each([10_000, 1_000_000])('refuses a form with a token of %d characters', async (length) => {
    await start();
    expect((await login('x'.repeat(length))).status).toBe(413);
  });
});
