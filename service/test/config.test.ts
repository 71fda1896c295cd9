import { describe, expect, test } from 'vitest';
import { ConfigError, createAppContainer, readConfig } from '../src/index.js';
import { ServiceProcess } from './support/service-process.js';

const POSTGRES_URL = 'postgres://ada:s3cret@db.example.org:5432/shop';
const MARIADB_URL = 'mariadb://ada:s3cret@db/shop';
const KEY = Buffer.from('a key of 32 bytes, for the tests');
const EVENTS = { EVENTS_URL: ' https://example.org/hook ', EVENTS_SECRET: `whsec_${KEY.toString('base64')}` };

const messageOf = (env: Record<string, string>): string => {
  try {
    readConfig(env);
    return 'nothing was wrong';
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }
};

const ACCEPTED: readonly (readonly [env: Record<string, string>, config: object])[] = [
  [
    { HOST: '0.0.0.0', HOST_VARIANT: 'express' },
    { host: '0.0.0.0', hostVariant: 'express' },
  ],
  [{ PORT: ' 65535 ' }, { port: 65_535 }],
  [{ DATA_DIR: ':memory:' }, { database: { kind: 'sqlite', folder: ':memory:' } }],
  [{ DATABASE_URL: POSTGRES_URL }, { database: { kind: 'postgres', url: POSTGRES_URL, poolSize: 10, prepare: true } }],
  ...[
    'postgresql://ada:p%40ss@db/shop',
    'postgres://ada:100%@db1:5432,db2:5433/shop',
    'postgres://ada:s3,cret@[::1]:5432,db2/shop?sslmode=require&target_session_attrs=prefer-standby',
    'postgres:///shop?host=/var/run/postgresql',
  ].map((url) => [{ DATABASE_URL: url }, { database: { url } }] as const),
  [{ DATABASE_URL: POSTGRES_URL, DATABASE_PREPARE: 'false' }, { database: { prepare: false } }],
  [
    { DATABASE_URL: 'mysql://ada:s3%20cret@[::1]:3307/shop?ssl-mode=VERIFY_IDENTITY' },
    {
      database: {
        kind: 'mariadb',
        server: { host: '::1', port: 3307, user: 'ada', password: 's3 cret', database: 'shop', isVerified: true },
      },
    },
  ],
  [{ INSPECTOR: '1', NODE_ENV: 'development' }, { inspector: { always: false } }],
  [
    { INSPECTOR: 'always', INSPECTOR_TOKEN: ' 16 characters in ' },
    { inspector: { token: '16 characters in', always: true } },
  ],
  [EVENTS, { events: { url: new URL('https://example.org/hook'), key: KEY } }],
];

const REFUSED: readonly (readonly [name: string, value: string, problem: string])[] = [
  ['HOST_VARIANT', 'koa', 'HOST_VARIANT must be one of fastify, express, not "koa"'],
  ['PORT', '65536', 'PORT must be a whole number from 0 to 65535, not "65536"'],
  ['MAX_CONNECTIONS', '3e3', 'MAX_CONNECTIONS must be a whole number from 1 to 1000000, not "3e3"'],
  ['METRICS', 'true', 'METRICS must be one of 0, 1, not "true"'],
  ['START_TIMEOUT_MS', '10s', 'START_TIMEOUT_MS must be a whole number from 0 to 600000, not "10s"'],
];

/** An added, a missing, a wrong letter, and two in the wrong order. */
const MISSPELT: readonly (readonly [name: string, meant: string])[] = [
  ['DATABASES_URL', 'DATABASE_URL'],
  ['EVENTS_SECET', 'EVENTS_SECRET'],
  ['LOG_LEVAL', 'LOG_LEVEL'],
  ['DATBASE_URL', 'DATABASE_URL'],
  ['DATA_DRI', 'DATA_DIR'],
];

const LIKE_POSTGRES = 'DATABASE_URL must be a URL like postgres://user:password@host:5432/name';
const LIKE_MARIADB = 'DATABASE_URL must be a URL like mariadb://user:password@host:3306/name';
const BAD_MARIADB = 'DATABASE_URL of MariaDB may have ssl-mode=VERIFY_IDENTITY or DISABLED';
const NEEDS_TOKEN = 'INSPECTOR needs INSPECTOR_TOKEN, or NODE_ENV=development on a machine that serves nobody else';

/** Their values may be secret, so no message repeats one. */
const SECRET: readonly (readonly [env: Record<string, string>, problem: string])[] = [
  [{ INSPECTOR: '1', NODE_ENV: 'production' }, NEEDS_TOKEN],
  [{ INSPECTOR: '1', INSPECTOR_TOKEN: 's3cret s3cret s' }, 'INSPECTOR_TOKEN must have at least 16 characters'],
  ...['s3cret', 'postgres:s3cret', 'postgres://', 'postgres://ada:s3cret@db/%ff', 'libsql://s3cret.turso.io'].map(
    (url) => [{ DATABASE_URL: url }, LIKE_POSTGRES] as const,
  ),
  ...['mariadb://ada:s3cret@db', 'mariadb://ada:s3cret%ff@db/shop'].map(
    (url) => [{ DATABASE_URL: url }, LIKE_MARIADB] as const,
  ),
  ...['ssl-mode=REQUIRED', 'sslmode=require'].map(
    (query) => [{ DATABASE_URL: `${MARIADB_URL}?${query}` }, BAD_MARIADB] as const,
  ),
  ...['ftp://s3cret.example.org', 's3cret.example.org/hook', 'https://s3cret@example.org'].map(
    (url) => [{ ...EVENTS, EVENTS_URL: url }, 'EVENTS_URL must be an http or https URL without a user'] as const,
  ),
  ...['', 's3cret', 'whsec_s3cret', `whsec_${'s3cret'.repeat(20)}`].map(
    (secret) => [{ ...EVENTS, EVENTS_SECRET: secret }, 'EVENTS_SECRET must be whsec_ and 24 to 64 random'] as const,
  ),
];

describe('the configuration', () => {
  test('has a default for everything, and treats an empty value as an absent one', () => {
    expect(readConfig({})).toMatchObject({ hostVariant: 'fastify', host: '127.0.0.1', port: 3000 });
    const names = [...REFUSED.map(([name]) => name), 'DATABASE_URL', 'DATA_DIR'];
    for (const empty of ['', ' '])
      expect(readConfig(Object.fromEntries(names.map((name) => [name, empty])))).toEqual(readConfig({}));
  });

  test.each(ACCEPTED)('reads %o', (env, config) => expect(readConfig(env)).toMatchObject(config));

  test('reports all problems at once, each with the variable, its value and what it must be', () => {
    const message = messageOf(Object.fromEntries(REFUSED));
    expect(message.split('\n  - ').slice(1).toSorted()).toEqual(REFUSED.map(([, , problem]) => problem).toSorted());
  });

  test.each(SECRET)('refuses %o', (env, problem) => {
    const message = messageOf(env);
    expect(message).toContain(problem);
    expect(message).not.toContain('s3cret');
    expect(message.split('\n')).toHaveLength(2);
  });

  test.each(MISSPELT)('refuses %s, which is almost %s, until that is set, too', (name, meant) => {
    expect(messageOf({ [name]: 's3cret' })).toMatch(
      new RegExp(`:\n  - ${name} is not known: rename it to ${meant}, or set ${meant} as well$`),
    );
    expect(messageOf({ [name]: 's3cret', [meant]: 's3cret' })).not.toContain('is not known');
  });

  test('of events makes an object graph with them, and none without', async () => {
    await using container = createAppContainer(readConfig(EVENTS));
    expect(container.resolve('IEventRelay')).toBeDefined();
    await using without = createAppContainer(readConfig({ PORT: '4711', DATA_DIR: ':memory:' }));
    for (const key of ['IOutbox', 'IEventRelay', 'IPublish'] as const) expect(without.resolve(key)).toBeUndefined();
    const port: number = without.resolve('IConfigService').get('port');
    expect(port).toBe(4711);
  });

  test('makes an application container whose IRequestContext, IAuditLogger and IUserRepository are one for each request', async () => {
    await using container = createAppContainer(readConfig({ DATA_DIR: ':memory:' }));
    expect(container.tags).toEqual(['application']);
    const [one, other] = [container.createScope({ tags: ['request'] }), container.createScope({ tags: ['request'] })];
    for (const key of ['IRequestContext', 'IAuditLogger', 'IUserRepository'] as const) {
      expect(one.resolve(key)).toBe(one.resolve(key));
      expect(one.resolve(key)).not.toBe(other.resolve(key));
      expect(() => container.resolve(key)).toThrow('is registered, but not for this scope');
    }
  });

  test.each([
    ['main.js', []],
    ['stock.js', ['list']],
  ])('that is invalid makes %s exit with 78', async (program, args) => {
    const wrong = { PORT: 'http', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://ada:s3cret@db' };
    expect(await new ServiceProcess(wrong, { program, args }).exit).toEqual({
      code: 78,
      output: `${messageOf(wrong)}\n`,
    });
  });
});
