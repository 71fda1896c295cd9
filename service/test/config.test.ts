import { describe, expect, test } from 'vitest';
import { ConfigError, createAppContainer, readConfig } from '../src/index.js';
import { ServiceProcess } from './support/service-process.js';

const POSTGRES_URL = 'postgres://ada:s3cret@db.example.org:5432/shop';

const messageOf = (env: Record<string, string>): string => {
  try {
    readConfig(env);
    return 'nothing was wrong';
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }
};

const EVENTS_SECRET = `whsec_${Buffer.from('a key of 32 bytes, for the tests').toString('base64')}`;

const ACCEPTED: readonly (readonly [env: Record<string, string>, config: object])[] = [
  [{ HOST_VARIANT: 'express' }, { hostVariant: 'express' }],
  [{ HOST: '0.0.0.0' }, { host: '0.0.0.0' }],
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: ' 65535 ' }, { port: 65_535 }],
  [{ DATA_DIR: '/srv/data' }, { database: { kind: 'sqlite', folder: '/srv/data' } }],
  [{ DATA_DIR: ':memory:' }, { database: { kind: 'sqlite', folder: ':memory:' } }],
  [{ DATABASE_URL: POSTGRES_URL }, { database: { kind: 'postgres', url: POSTGRES_URL, poolSize: 10, prepare: true } }],
  [{ DATABASE_URL: 'postgresql://db/shop' }, { database: { kind: 'postgres', url: 'postgresql://db/shop' } }],
  [{ DATABASE_URL: 'postgres://ada:p%40ss@db/shop' }, { database: { url: 'postgres://ada:p%40ss@db/shop' } }],
  ...[
    'postgres://ada:s3cret@db1:5432,db2:5433/shop',
    'postgres://ada:s3cret@db1,db2,db3/shop?target_session_attrs=read-write',
    'postgres://ada:s3,cret@[::1]:5432,db2/shop?sslmode=require&target_session_attrs=prefer-standby',
    'postgres:///shop?host=/var/run/postgresql',
  ].map((url) => [{ DATABASE_URL: url }, { database: { url } }] as const),
  [{ DATABASE_URL: 'postgres://ada:100%@db/shop' }, { database: { url: 'postgres://ada:100%@db/shop' } }],
  [{ DATABASE_URL: POSTGRES_URL, DATABASE_POOL_SIZE: '1' }, { database: { poolSize: 1 } }],
  [{ DATABASE_URL: POSTGRES_URL, DATABASE_PREPARE: 'false' }, { database: { prepare: false } }],
  [{ DATABASE_URL: POSTGRES_URL }, { database: { replicas: undefined } }],
  [
    { DATABASE_URL: POSTGRES_URL, DATABASE_READ_URL: 'postgres://ada@r1,r2:5433/shop' },
    {
      database: { replicas: { urls: ['postgres://ada@r1/shop', 'postgres://ada@r2:5433/shop'], readFrom: 'primary' } },
    },
  ],
  [
    { DATABASE_URL: POSTGRES_URL, DATABASE_READ_URL: 'postgres://r1/shop', DATABASE_READ_FROM: 'replica' },
    { database: { replicas: { readFrom: 'replica' } } },
  ],
  [{ LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
  [{ LOG_FORMAT: 'text' }, { logFormat: 'text' }],
  [{ OTEL_SERVICE_NAME: 'shop' }, { serviceName: 'shop' }],
  [{ OTEL_SERVICE_NAME: '' }, { serviceName: 'ambit-service' }],
  [{ METRICS: '1' }, { metrics: true, traces: false, inspector: undefined }],
  [{ TRACES: '1' }, { metrics: false, traces: true }],
  [{ INSPECTOR: '1', NODE_ENV: 'development' }, { inspector: { token: undefined, always: false, lines: false } }],
  [{ INSPECTOR: 'always', NODE_ENV: 'test' }, { inspector: { token: undefined, always: true, lines: false } }],
  [
    { INSPECTOR: '1', INSPECTOR_LINES: '1', NODE_ENV: 'development' },
    { inspector: { token: undefined, always: false, lines: true } },
  ],
  [
    { INSPECTOR: '1', INSPECTOR_TOKEN: ' 16 characters in ' },
    { inspector: { token: '16 characters in', always: false, lines: false } },
  ],
  [{ INSPECTOR_TOKEN: '16 characters in' }, { inspector: undefined }],
  [{ EVENTS_SECRET }, { events: undefined }],
  [
    { EVENTS_URL: ' https://example.org/hook ', EVENTS_SECRET },
    { events: { url: new URL('https://example.org/hook'), key: Buffer.from('a key of 32 bytes, for the tests') } },
  ],
  [{ SANDBOX: '1', NODE_ENV: 'test' }, { sandbox: true }],
  [{ NODE_ENV: 'production' }, { sandbox: false }],
  [{ ACQUIRE_TIMEOUT_MS: '1' }, { database: { kind: 'sqlite', acquireTimeoutMs: 1 } }],
  [
    { DATABASE_URL: POSTGRES_URL, ACQUIRE_TIMEOUT_MS: '1', QUERY_TIMEOUT_MS: '2' },
    { database: { kind: 'postgres', acquireTimeoutMs: 1, queryTimeoutMs: 2 } },
  ],
  [{}, { transactionCheck: 'off' }],
  [{ TRANSACTION_CHECK: '1' }, { transactionCheck: 'report' }],
  [{ TRANSACTION_CHECK: 'throw' }, { transactionCheck: 'throw' }],
  [{ TRANSACTION_TIMEOUT_MS: '3' }, { transactionTimeoutMs: 3 }],
  [{ START_TIMEOUT_MS: '0' }, { startTimeoutMs: 0 }],
  [{ SHUTDOWN_TIMEOUT_MS: '600000' }, { shutdownTimeoutMs: 600_000 }],
  [{ KEEP_IDLE_MS: '1000' }, { keepIdleMs: 1000 }],
  [{ MAX_CONNECTIONS: '100' }, { maxConnections: 100 }],
  [{}, { maxConnections: undefined }],
];

const REFUSED: readonly (readonly [name: string, value: string, problem: string])[] = [
  ['TRANSACTION_CHECK', '2', 'TRANSACTION_CHECK must be one of 0, 1, throw, not "2"'],
  ['HOST_VARIANT', 'koa', 'HOST_VARIANT must be one of fastify, express, not "koa"'],
  ['HOST', 'two words', 'HOST must be an address to listen on, not "two words"'],
  ['HOST', '999.1.1.1', 'HOST must be an address to listen on, not "999.1.1.1"'],
  ['PORT', '65536', 'PORT must be a whole number from 0 to 65535, not "65536"'],
  ['PORT', '3e3', 'PORT must be a whole number from 0 to 65535, not "3e3"'],
  ['DATABASE_POOL_SIZE', '0', 'DATABASE_POOL_SIZE must be a whole number from 1 to 1000, not "0"'],
  ['DATABASE_READ_FROM', 'standby', 'DATABASE_READ_FROM must be one of primary, replica, not "standby"'],
  ['DATABASE_PREPARE', 'no', 'DATABASE_PREPARE must be one of true, false, not "no"'],
  ['LOG_LEVEL', 'loud', 'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"'],
  ['LOG_FORMAT', 'pretty', 'LOG_FORMAT must be one of auto, json, text, not "pretty"'],
  ['METRICS', 'true', 'METRICS must be one of 0, 1, not "true"'],
  ['TRACES', 'on', 'TRACES must be one of 0, 1, not "on"'],
  ['INSPECTOR', '2', 'INSPECTOR must be one of 0, 1, always, not "2"'],
  ['SANDBOX', 'yes', 'SANDBOX must be one of 0, 1, not "yes"'],
  ['ACQUIRE_TIMEOUT_MS', '0', 'ACQUIRE_TIMEOUT_MS must be a whole number from 1 to 600000, not "0"'],
  ['QUERY_TIMEOUT_MS', '600001', 'QUERY_TIMEOUT_MS must be a whole number from 1 to 600000, not "600001"'],
  ['TRANSACTION_TIMEOUT_MS', 'none', 'TRANSACTION_TIMEOUT_MS must be a whole number from 1 to 600000, not "none"'],
  ['START_TIMEOUT_MS', '10s', 'START_TIMEOUT_MS must be a whole number from 0 to 600000, not "10s"'],
  ['MAX_CONNECTIONS', '0', 'MAX_CONNECTIONS must be a whole number from 1 to 1000000, not "0"'],
  ['SHUTDOWN_TIMEOUT_MS', '600001', 'SHUTDOWN_TIMEOUT_MS must be a whole number from 0 to 600000, not "600001"'],
];

const EVENTS = { EVENTS_URL: 'https://example.org/hook', EVENTS_SECRET };
const REPLICAS = { DATABASE_URL: POSTGRES_URL, DATABASE_READ_URL: 'postgres://r1/shop' };
const MARIADB_URL = 'mariadb://ada:s3cret@db/shop';
const LIKE_POSTGRES = 'DATABASE_URL must be a URL like postgres://user:password@host:5432/name';
const LIKE_MARIADB = 'DATABASE_URL must be a URL like mariadb://user:password@host:3306/name';
const SSL_MODES = 'sslmode in DATABASE_URL must be one of disable, prefer, require, verify-ca, verify-full, no-verify';
const BAD_EVENTS_URL = 'EVENTS_URL must be an http or https URL without a user and a password';
const BAD_SECRET =
  'EVENTS_SECRET must be whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"';
const NEEDS_TOKEN = 'INSPECTOR needs INSPECTOR_TOKEN, or NODE_ENV=development on a machine that serves nobody else';

/** Their values may be secret, so no message repeats one. */
const SECRET: readonly (readonly [env: Record<string, string>, problem: string])[] = [
  [{ SANDBOX: '1', NODE_ENV: 'production' }, 'SANDBOX is for tests and must not be 1 where NODE_ENV is production'],
  [
    { SANDBOX: '1', ...REPLICAS },
    'DATABASE_READ_URL has no effect with SANDBOX=1, because no replica has what a sandbox',
  ],
  [{ SANDBOX: '1', ...EVENTS }, 'EVENTS_URL has no effect with SANDBOX=1, because a sandbox stores nothing'],
  [{ INSPECTOR: '1' }, NEEDS_TOKEN],
  [{ INSPECTOR: '1', NODE_ENV: 'production' }, NEEDS_TOKEN],
  [{ INSPECTOR_TOKEN: 's3cret s3cret s' }, 'INSPECTOR_TOKEN must have at least 16 characters, or it can be guessed'],
  [{ INSPECTOR: '1', INSPECTOR_TOKEN: 's3cret s3cret s3cret\n' }, 'INSPECTOR_TOKEN must not contain line breaks or'],
  [{ DATABASE_READ_URL: 'postgres://ada:s3cret@r1/shop' }, 'DATABASE_READ_URL must be set with DATABASE_URL'],
  [
    { ...REPLICAS, DATABASE_READ_URL: 'mysql://ada:s3cret@r1/shop' },
    'DATABASE_READ_URL must be a URL like postgres://',
  ],
  ...['s3cret', 'postgres//ada:s3cret@db', 'postgres:s3cret', 'postgres://', 'postgres://ada:s3cret%ff@db/shop'].map(
    (url) => [{ DATABASE_URL: url }, LIKE_POSTGRES] as const,
  ),
  ...['db/%ff', 'db1:5432,db2:port/shop', 'db 1,db2/shop'].map(
    (rest) => [{ DATABASE_URL: `postgres://ada:s3cret@${rest}` }, LIKE_POSTGRES] as const,
  ),
  ...['foo', 'allow', 'REQUIRE', 'require&sslmode=foo'].map(
    (mode) => [{ DATABASE_URL: `postgres://ada:s3cret@db/shop?sslmode=${mode}` }, SSL_MODES] as const,
  ),
  [
    { DATABASE_URL: 'postgres://ada:s3cret@db1,db2/shop?target_session_attrs=master' },
    'target_session_attrs in DATABASE_URL must be one of any, read-write, read-only, primary, standby, prefer-standby',
  ],
  [
    { ...REPLICAS, DATABASE_READ_URL: 'postgres://ada:s3cret@r1,r2/shop?target_session_attrs=read-write' },
    'target_session_attrs in DATABASE_READ_URL must be one of any, read-only, standby, prefer-standby',
  ],
  [{ DATABASE_URL: 'mariadb://ada:s3cret@db' }, LIKE_MARIADB],
  [{ DATABASE_URL: 'mariadb://ada:s3cret%ff@db/shop' }, LIKE_MARIADB],
  [{ DATABASE_URL: `${MARIADB_URL}?ssl-mode=on` }, 'ssl-mode in DATABASE_URL must be one of DISABLED, REQUIRED'],
  [{ DATABASE_URL: `${MARIADB_URL}?sslmode=require` }, 'parameters that are not known for MariaDB: sslmode'],
  [{ DATABASE_URL: MARIADB_URL, DATABASE_READ_URL: POSTGRES_URL }, 'DATABASE_READ_URL is for PostgreSQL'],
  [{ DATABASE_URL: MARIADB_URL, DATABASE_PREPARE: 'false' }, 'DATABASE_PREPARE=false is for PostgreSQL'],
  [{ DATABASE_URL: 'libsql://s3cret.turso.io' }, 'must not lead to a server of libSQL: leave it out'],
  ...['ftp://s3cret.example.org', 's3cret.example.org/hook', 'https://s3cret@example.org'].map(
    (url) => [{ ...EVENTS, EVENTS_URL: url }, BAD_EVENTS_URL] as const,
  ),
  [{ EVENTS_URL: 'https://example.org' }, 'EVENTS_SECRET must be set with EVENTS_URL'],
  ...['s3cret', 'whsec_s3cret', `whsec_${'s3cret'.repeat(20)}`, EVENTS_SECRET.slice(6), `${EVENTS_SECRET}!`].map(
    (secret) => [{ ...EVENTS, EVENTS_SECRET: secret }, BAD_SECRET] as const,
  ),
];

const MEANT = {
  DATBASE_URL: 'DATABASE_URL',
  DATABASE_URI: 'DATABASE_URL',
  DATABSAE_URL: 'DATABASE_URL',
  database_url: 'DATABASE_URL',
  DATABASE_REED_URL: 'DATABASE_READ_URL',
  DATA_DRI: 'DATA_DIR',
  EVENT_URL: 'EVENTS_URL',
  METRIC: 'METRICS',
};

describe('the configuration', () => {
  test('has a default for everything, and treats an empty value as an absent one', () => {
    expect(readConfig({})).toMatchObject({
      hostVariant: 'fastify',
      host: '127.0.0.1',
      port: 3000,
      database: { kind: 'sqlite', folder: './data' },
      logLevel: 'info',
      logFormat: 'auto',
      startTimeoutMs: 10_000,
      shutdownTimeoutMs: 10_000,
      keepIdleMs: 0,
      transactionTimeoutMs: 8000,
    });
    const names = [...REFUSED.map(([name]) => name), 'DATABASE_URL', 'DATA_DIR'];
    for (const empty of ['', ' '])
      expect(readConfig(Object.fromEntries(names.map((name) => [name, empty])))).toEqual(readConfig({}));
  });

  test.each(ACCEPTED)('reads %o', (env, config) => expect(readConfig(env)).toMatchObject(config));

  test.each(REFUSED)('refuses %s=%s', (name, value, problem) => {
    expect(messageOf({ [name]: value })).toBe(`The configuration is wrong:\n  - ${problem}`);
  });

  test.each(SECRET)('refuses %o', (env, problem) => {
    const message = messageOf(env);
    expect(message).toContain(problem);
    expect(message).not.toContain('s3cret');
    expect(message.split('\n')).toHaveLength(2);
  });

  test('refuses a variable that is almost a known one, without repeating its value', () => {
    for (const [name, meant] of Object.entries(MEANT))
      expect(messageOf({ [name]: 'postgres://ada:s3cret@db/shop' })).toBe(
        `The configuration is wrong:\n  - ${name} is not known: rename it to ${meant}, or set ${meant} as well`,
      );
    const foreign = { POST: '1', HOSTS: 'a', DATABASE_PORT: 'tcp://10.0.0.1', OTEL_SERVICE_VERSION: '1', PGHOST: 'db' };
    expect(readConfig({ ...foreign, TRACE: '1', TRACES: '0' })).toEqual(readConfig({}));
  });

  const server = { host: 'db', port: 3306, user: 'ada', password: 's3 cret', database: 'shop' };
  test.each([
    ['mariadb://ada:s3%20cret@db/shop', { ...server, sslMode: 'DISABLED', sslFiles: {} }],
    [
      'mysql://ada:s3%20cret@[::1]:3307/shop',
      { ...server, host: '::1', port: 3307, sslMode: 'DISABLED', sslFiles: {} },
    ],
    ['mariadb://ada:s3%20cret@db/shop?ssl-mode=required', { ...server, sslMode: 'REQUIRED', sslFiles: {} }],
    ['mariadb://ada:s3%20cret@db/shop?ssl-ca=/ca', { ...server, sslMode: 'VERIFY_IDENTITY', sslFiles: { ca: '/ca' } }],
  ])('reads %s as a server of MariaDB', (DATABASE_URL, wanted) => {
    expect(readConfig({ DATABASE_URL }).database).toEqual({
      kind: 'mariadb',
      server: wanted,
      poolSize: 10,
      acquireTimeoutMs: 2000,
      queryTimeoutMs: 5000,
    });
  });

  test('of events and replicas makes an object graph with them, and none without', async () => {
    await using container = createAppContainer(readConfig({ ...EVENTS, ...REPLICAS }));
    expect(container.resolve('IReplicatedPool')?.size).toMatchObject({ open: 0, idle: 0, waiting: 0 });
    expect(container.resolve('IEventRelay')).toBeDefined();
    await using without = createAppContainer(readConfig({ PORT: '4711', DATA_DIR: ':memory:' }));
    for (const key of ['IReplicatedPool', 'IReplicaPools', 'IOutbox', 'IEventRelay', 'ITransactionEvents'] as const)
      expect(without.resolve(key)).toBeUndefined();
    const port: number = without.resolve('IConfigService').get('port');
    expect(port).toBe(4711);
  });

  test('reports all problems at once', () => {
    const problems = messageOf(Object.fromEntries(REFUSED.map(([name, value]) => [name, value]))).split('\n  - ');
    expect(problems).toHaveLength(1 + new Set(REFUSED.map(([name]) => name)).size);
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
