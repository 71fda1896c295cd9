import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { Container } from '@ambit/container';
import { createHandler, errorResponse } from '@ambit/fetch';
import type { IDatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, expect, test } from 'vitest';
import { record, type Recorder, type Recording } from '../src/index.js';
import { replay } from '../src/testing.js';

let recorder: Recorder | undefined;
afterEach(() => recorder?.stop());

const secrets: string[] = [];
const planted = (prefix = ''): string => {
  const secret = prefix + randomBytes(9).toString('base64url');
  secrets.push(secret);
  return secret;
};
const many = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, planted()]));

const NAMES = [
  'password',
  'passwd',
  'pwd',
  'newPassword',
  'passphrase',
  'secret',
  'client_secret',
  'clientSecret',
  'token',
  'accessToken',
  'refresh_token',
  'api_key',
  'apiKey',
  'privateKey',
  'credentials',
  'sessionId',
  'csrfToken',
  'otp',
  'pin',
  'cvv',
  'ssn',
  'iban',
  'salt',
  'signature',
  'password_hash',
];
const HEADERS = [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'x-auth-token',
  'x-csrf-token',
  'x-session-id',
  'x-amz-security-token',
];
const CARDS = ['4111 1111 1111 1111', '5500-0000-0000-0004', '340000000000009', '6011000000000004'];

test('of 200 planted secrets none is in a recording, which says what was replaced', async () => {
  const pool = createSqlitePool({ path: ':memory:' });
  await pool.query(
    `CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT, note TEXT, ${NAMES.map((name) => `${name} TEXT`).join()})`,
  );
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  const known = many(NAMES);
  const jwt = `eyJhbGciOiJIUzI1NiJ9.${planted('eyJ')}.${planted()}`;
  secrets.push(...CARDS);
  await pool.query(
    `INSERT INTO users (id, email, note, ${NAMES.join()}) VALUES ('u1', 'ann@example.org', $1, ${NAMES.map((_, i) => `$${i + 2}`).join()})`,
    [`card ${CARDS[0]}, jwt ${jwt}`, ...Object.values(known)],
  );
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = Object.values(many(['1', '2', '3', '4', '5']));
  const handle = createHandler(
    container,
    async (request, scope) => {
      const database = scope.resolve<IDatabasePool>('IDatabasePool' as string);
      const body = (await request.json()) as Record<string, string>;
      await database.query('SELECT * FROM users WHERE password = $1 OR id = $2', [body['password'], 'u1']);
      // Made by the handler: in no request, and in no row.
      const token = randomBytes(24).toString('hex');
      secrets.push(token);
      const hash = createHash('sha256')
        .update(body['password'] ?? '')
        .digest('hex');
      secrets.push(hash);
      await database.query('UPDATE users SET token = $1, password_hash = $2 WHERE id = $3', [token, hash, 'u1']);
      await database.query('INSERT INTO users (id, email, secret, apiKey) VALUES ($1, $2, $3, lower($4))', [
        randomUUID(),
        'bob@example.org',
        first,
        second.toLowerCase(),
      ]);
      await database.query(`SELECT id FROM users WHERE passphrase = '${body['passphrase']}'`);
      await database.query('UPDATE users SET note = $1', [body['link']]);
      throw Object.assign(new Error(`login failed: password=${fifth}, Bearer ${third}xx`), {
        detail: `Key (token)=(${fourth}) exists`,
      });
    },
    { onError: errorResponse },
  );
  const recordings: Recording[] = [];
  recorder = record(new Container({ tags: ['application'] }), {
    keep: (one) => recordings.push(one),
    redact: { columns: ['email'], patterns: [/custom-\w+/] },
  });
  const nested = { profile: { credentials: many(['a', 'b', 'c', 'd']), list: [many(NAMES.slice(0, 20))] } };
  secrets.push('custom-4711abc');
  const cookies = Array.from({ length: 40 }, (_, i) => `c${i}=${planted()}`);
  const basic = planted();
  const query = new URLSearchParams(many(NAMES.slice(0, 20)));
  const request = (): Request =>
    new Request(`http://localhost/login?${query.toString()}`, {
      method: 'POST',
      headers: {
        ...many(HEADERS),
        authorization: `Basic ${Buffer.from(`ann:${basic}`).toString('base64')}`,
        cookie: cookies.join('; '),
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        ...many(NAMES),
        ...nested,
        cards: CARDS,
        text: `a custom-4711abc b`,
        link: `https://ann:${planted()}@example.org/?access_token=${planted()}`,
        user: 'u1',
      }),
    });
  expect((await recorder.fetch(handle)(request())).status).toBe(500);
  const form = new Request('http://localhost/form', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ ...many(NAMES), pin: '4711' }).toString(),
  });
  await recorder.fetch(handle)(form);
  const upload = new FormData();
  for (const name of NAMES) upload.append(name, planted());
  await recorder.fetch(handle)(new Request('http://localhost/upload', { method: 'POST', body: upload }));
  await expect.poll(() => recordings.length).toBe(3);

  expect(secrets.length).toBeGreaterThan(200);
  const text = JSON.stringify(recordings);
  const forms = (secret: string): string[] => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret, 'hex').toString('base64'),
  ];
  expect(secrets.filter((secret) => forms(secret).some((one) => one.length > 5 && text.includes(one)))).toEqual([]);
  expect(text).not.toContain('ann@example.org');
  const [recording, ofForm] = recordings as [Recording, Recording];
  expect(new URLSearchParams(ofForm.request.body?.text).get('pin')).toMatch(/^(?!4711)\d{4}$/);
  expect(recording.replaced).toEqual(
    expect.arrayContaining(['body password', 'header cookie', 'the number of a card', 'column email']),
  );

  // The statement that compares the password of the body, and the token that is made, are the same again.
  const again = await replay({ fetch: handle }, recording);
  expect([again.divergence, again.status, again.steps.replayed]).toEqual([undefined, 500, again.steps.recorded]);
});

test('a token keeps its claims and loses its signature, so that a replay can sign it again', async () => {
  const sign = (signed: string): string => createHmac('sha256', 'of the server').update(signed).digest('base64url');
  const part = (json: object): string => Buffer.from(JSON.stringify(json)).toString('base64url');
  const claimsOf = (header: string | null): object =>
    JSON.parse(Buffer.from(header?.split('.')[1] ?? '', 'base64url').toString()) as object;
  const session = planted();
  const signed = `${part({ alg: 'HS256' })}.${part({ sub: 7, session_id: session })}`;
  const handler = async ({ headers }: Request): Promise<Response> => {
    const [, own = '', signature] = /^Bearer (.*)\.(.*)$/.exec(headers.get('authorization') ?? '') ?? [];
    if (sign(own) !== signature) return new Response('the signature is another', { status: 401 });
    return Response.json(claimsOf(own), { status: 500 });
  };
  const recordings: Recording[] = [];
  recorder = record(new Container({ tags: ['application'] }), { keep: (one) => recordings.push(one) });
  const headers = { authorization: `Bearer ${signed}.${sign(signed)}` };
  expect((await recorder.fetch(handler)(new Request('http://localhost/', { headers }))).status).toBe(500);
  await expect.poll(() => recordings.length).toBe(1);
  const [recording = expect.fail()] = recordings;
  const kept = new Headers(recording.request.headers as [string, string][]).get('authorization');
  expect(kept).not.toContain(sign(signed));
  expect(claimsOf(kept)).toEqual({ sub: 7, session_id: expect.not.stringContaining(session) as string });
  expect((await replay({ fetch: handler }, recording)).status).toBe(401);
  const again = await replay({ fetch: handler }, recording, {
    request: (request) => {
      const own = kept?.slice('Bearer '.length, kept.lastIndexOf('.')) ?? '';
      return { ...request, headers: [['authorization', `Bearer ${own}.${sign(own)}`]] };
    },
  });
  expect(again).toMatchObject({ status: 500, body: { sub: 7 } });
});
