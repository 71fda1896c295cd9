import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { API_ENDPOINTS, PARAMETERS } from '../src/api/endpoints.js';
import { fieldsOf, type PageOptions, REFERENCE_PATHS, referencePage } from '../src/api/reference.js';
import { HOST_VARIANTS } from '../src/config/config.js';
import { readConfig, startService } from '../src/index.js';
import { App } from './support/app.js';

const IN_MEMORY = { DATA_DIR: ':memory:' };
const EVERY_TIME = ['connection', 'keep-alive', 'date', 'x-request-id'];

let apps: App[] = [];
beforeAll(async () => {
  apps = await Promise.all(HOST_VARIANTS.map((variant) => App.start(variant, IN_MEMORY)));
});
afterAll(() => Promise.all(apps.map((app) => app.stop())));

/** The response of both hosts, which must be the same. */
async function get(path: string, init: RequestInit = {}) {
  const [one, other] = await Promise.all(
    apps.map(async ({ url }) => {
      const response = await fetch(`${url}${path}`, init);
      const headers = [...response.headers].filter(([name]) => !EVERY_TIME.includes(name));
      return { status: response.status, headers: Object.fromEntries(headers), text: await response.text() };
    }),
  );
  expect(one).toEqual(other);
  return one ?? expect.fail('There is no host');
}

describe.each(REFERENCE_PATHS)('%s', (path) => {
  test('is the same on both hosts, and loads nothing from other origins', async () => {
    const { status, headers, text } = await get(path);
    expect(status).toBe(200);
    expect(text).not.toBe('');
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(headers['content-security-policy']).not.toMatch(/unsafe|http|\*/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  });

  test('is not sent to a client that has it already, nor to HEAD', async () => {
    const { headers } = await get(path);
    expect(headers).toMatchObject({ 'cache-control': 'no-cache', etag: expect.stringMatching(/^".{43}"$/) });
    const again = await get(path, { headers: { 'if-none-match': `"other", W/${headers['etag']}` } });
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(await get(path, { headers: { 'if-none-match': '"other"' } })).toMatchObject({ status: 200 });
    expect(await get(path, { method: 'HEAD' })).toEqual({ status: 200, headers, text: '' });
  });
});

test.each(REFERENCE_PATHS.filter((path) => !/json$|svg$/.test(path)))('%s contains no external URL', async (path) => {
  expect((await get(path)).text).not.toMatch(/https?:|(?:src|href)="\/\/|url\(|@import/);
});

test('the page and its files are smaller than 66 kB', async () => {
  const files = await Promise.all(REFERENCE_PATHS.filter((path) => path !== '/docs/').map((path) => get(path)));
  const bytes = files.map(({ text }) => Buffer.byteLength(text)).slice(1);
  expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(66_000);
});

test('no other file is served', async () => {
  for (const path of [
    '/docs/index.html',
    '/docs/..',
    '/docs/%2e%2e/package.json',
    '/docs/reference.css/',
    '/openapi.json/',
  ])
    expect((await get(path)).status).toBe(404);
});

test('the colours are those of the inspector, in both themes', async () => {
  const inspector = readFileSync(new URL('../../packages/inspector/page/styles/colors.css', import.meta.url), 'utf8');
  const [light = '', dark = ''] = inspector.split("[data-theme='dark']");
  const colorIn = (css: string, name: string): string => new RegExp(`${name}: (#[^;]+);`).exec(css)?.[1] ?? '';
  const { text } = await get('/docs/reference.css');
  const ours = Array.from(text.matchAll(/^ {2}(--[\w-]+): light-dark\((#\w+), (#\w+)\);$/gm), ([, ...color]) => color);
  expect(ours.length).toBeGreaterThan(15);
  expect(ours).toEqual(ours.map(([name = '']) => [name, colorIn(light, name), colorIn(dark, name)]));
});

describe('the page', () => {
  const page = (options: Partial<PageOptions> = {}): string =>
    referencePage({ links: {}, authenticates: false, ...options });

  test('can be read without its script: it has every operation, property, parameter and error message', () => {
    const text = page({ authenticates: true }).replaceAll('&quot;', '"');
    const parts = API_ENDPOINTS.flatMap(({ operationId, summary, parameters, request, responses }) => [
      `id="${operationId}"`,
      summary,
      ...parameters.map((name) => PARAMETERS[name].name),
      ...fieldsOf(request?.schema ?? {}).map(({ name }) => `<code>${name}</code>`),
      ...Object.values(responses).flatMap(({ examples }) => Object.values(examples).map(({ summary: name }) => name)),
    ]);
    for (const part of parts) expect(text).toContain(part.replaceAll(/`(.+?)`/g, '<code>$1</code>'));
  });

  test('describes 401, and has a field for credentials, only where callers are checked', () => {
    expect(page({ authenticates: true })).toMatch(/>401<[^]*id="authorization"|id="authorization"[^]*>401</);
    expect(page()).not.toMatch(/>401<|id="authorization"/);
  });

  test.each(HOST_VARIANTS)('of %s links the inspector where it is on, and that links back', async (variant) => {
    const env = {
      ...IN_MEMORY,
      PORT: '0',
      HOST_VARIANT: variant,
      INSPECTOR: '1',
      NODE_ENV: 'development',
      LOG_LEVEL: 'silent',
    };
    const service = await startService(readConfig(env));
    onTestFinished(() => service.stop());
    const [docs, inspector] = await Promise.all(
      ['/docs', '/inspector/'].map(async (path) => (await fetch(`${service.url}${path}`)).text()),
    );
    expect(docs).toContain('<a href="/inspector/">Inspector</a>');
    expect(inspector).toContain('<a href="/docs">API reference</a>');
    expect((await get('/docs')).text).not.toContain('/inspector/');
  });
});
