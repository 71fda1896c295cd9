import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { API_ENDPOINTS } from '../src/api/document.js';
import { REFERENCE_PATHS, referencePage } from '../src/api/reference.js';
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

test.each(REFERENCE_PATHS)('%s is the same on both hosts, and loads nothing from other origins', async (path) => {
  const { status, headers, text } = await get(path);
  expect(status).toBe(200);
  expect(text).not.toBe('');
  if (!path.endsWith('.json')) expect(text).not.toMatch(/https?:|(?:src|href)="\/\/|url\(|@import/);
  expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(headers['content-security-policy']).not.toMatch(/unsafe|http|\*/);
  expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  expect(await get(path, { method: 'HEAD' })).toEqual({ status: 200, headers, text: '' });
});

test('no other file is served', async () => {
  for (const path of ['/docs/index.html', '/docs/..', '/docs/%2e%2e/package.json', '/openapi.json/'])
    expect((await get(path)).status).toBe(404);
});

test('the page can be read without its script: it has every operation, parameter and response', () => {
  const text = referencePage({ authenticates: true });
  for (const { operationId, summary, parameters, responses } of API_ENDPOINTS) {
    const typed = parameters.filter((parameter) => parameter.in !== 'cookie').map(({ name }) => `name="${name}"`);
    const statuses = Object.keys(responses).map((status) => `<h3>${status}</h3>`);
    for (const part of [`id="${operationId}"`, summary, ...typed, ...statuses]) expect(text).toContain(part);
  }
});

test('the page describes 401, and has a field for credentials, only where callers are checked', () => {
  expect(referencePage({ authenticates: true })).toMatch(/id="authorization"[^]*>401</);
  expect(referencePage({ authenticates: false })).not.toMatch(/>401<|id="authorization"/);
});

test.each(HOST_VARIANTS)('the page of %s links the inspector where it is on, and that links back', async (variant) => {
  const inspected = { INSPECTOR: '1', NODE_ENV: 'development', LOG_LEVEL: 'silent', PORT: '0' };
  const service = await startService(readConfig({ ...IN_MEMORY, ...inspected, HOST_VARIANT: variant }));
  onTestFinished(() => service.stop());
  const [docs, inspector] = await Promise.all(
    ['/docs', '/inspector/'].map(async (path) => (await fetch(`${service.url}${path}`)).text()),
  );
  expect(docs).toContain('<a href="/inspector/">Inspector</a>');
  expect(inspector).toContain('<a href="/docs">API reference</a>');
  expect((await get('/docs')).text).not.toContain('/inspector/');
});
