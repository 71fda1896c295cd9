import { describe, expect, test } from 'vitest';
import { readServers, splitHosts } from '../src/postgres/options.js';

describe('splitHosts()', () => {
  test.each<[string, string[]]>([
    ['postgres://h1/db', ['postgres://h1/db']],
    ['postgres://h1:5432,h2:5433/db', ['postgres://h1:5432/db', 'postgres://h2:5433/db']],
    ['postgresql://h1,h2/db', ['postgresql://h1/db', 'postgresql://h2/db']],
    ['postgres://u:p%40s@h1,h2:1/db?a=b', ['postgres://u:p%40s@h1/db?a=b', 'postgres://u:p%40s@h2:1/db?a=b']],
    ['postgres://u:a,b@h1/db', ['postgres://u:a,b@h1/db']],
    ['postgres://u:a@b@h1,h2/db', ['postgres://u:a@b@h1/db', 'postgres://u:a@b@h2/db']],
    ['postgres://[::1]:1,[::2]/db', ['postgres://[::1]:1/db', 'postgres://[::2]/db']],
    ['postgres://%2Ftmp,h2/db', ['postgres://%2Ftmp/db', 'postgres://h2/db']],
    ['postgres://h1,h2', ['postgres://h1', 'postgres://h2']],
    ['postgres://h1,h2?user=u', ['postgres://h1?user=u', 'postgres://h2?user=u']],
    ['postgres:///db?host=h1', ['postgres:///db?host=h1']],
    ['postgres:///db?host=h1,h2', ['postgres:///db?host=h1', 'postgres:///db?host=h2']],
    [
      'postgres://u@/db?host=h1,h2&port=1,2&a=b',
      ['postgres://u@/db?host=h1&port=1&a=b', 'postgres://u@/db?host=h2&port=2&a=b'],
    ],
    ['postgres:///db?host=h1,h2&port=7', ['postgres:///db?host=h1&port=7', 'postgres:///db?host=h2&port=7']],
    ['postgres://h1/db,x?a=b,c', ['postgres://h1/db,x?a=b,c']],
    ['/tmp db', ['/tmp db']],
    ['socket:/tmp?db=x', ['socket:/tmp?db=x']],
  ])('%s', (url, expected) => expect(splitHosts(url)).toEqual(expected));

  test('refuses as many ports as there are not hosts', () => {
    expect(() => splitHosts('postgres:///db?host=h1,h2,h3&port=1,2')).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringContaining('3 hosts and 2 ports') }),
    );
  });
});

describe('readServers()', () => {
  test('says that there is no host for several ports', () => {
    const message = expect.stringContaining('No host and 2 ports do not match: give one port for all hosts');
    expect(() => readServers({}, { PGPORT: '1,2' })).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message }),
    );
  });

  test('reads hosts and ports from options', () => {
    expect(readServers({ host: 'h1,h2', port: 7 }, {}).addresses).toEqual([
      { host: 'h1', port: 7 },
      { host: 'h2', port: 7 },
    ]);
    expect(readServers({ host: 'h1' }, {}).addresses).toEqual([{ host: 'h1' }]);
    expect(readServers({}, {}).addresses).toEqual([{}]);
  });

  test('reads them from the environment of libpq', () => {
    expect(readServers({}, { PGHOST: 'h1,h2', PGPORT: '1,2' }).addresses).toEqual([
      { host: 'h1', port: 1 },
      { host: 'h2', port: 2 },
    ]);
    expect(readServers({ host: 'h3' }, { PGHOST: 'h1,h2', PGPORT: '1' }).addresses).toEqual([{ host: 'h3' }]);
    expect(readServers({}, { PGTARGETSESSIONATTRS: 'primary' }).target).toBe('primary');
  });

  test('reads what the session must be like, and the connection string wins, as in pg', () => {
    const connectionString = 'postgres://h1,h2/db?target_session_attrs=standby';
    expect(readServers({ connectionString, host: 'h3', targetSessionAttrs: 'any' }, {})).toEqual({
      addresses: [
        { connectionString: 'postgres://h1/db?target_session_attrs=standby' },
        { connectionString: 'postgres://h2/db?target_session_attrs=standby' },
      ],
      target: 'standby',
    });
    expect(readServers({ connectionString: 'postgres://h1/db', targetSessionAttrs: 'any' }, {}).target).toBe('any');
    expect(readServers({}, {}).target).toBeUndefined();
  });

  test.each([
    ['the connection string', { connectionString: 'postgres://h/db?target_session_attrs=master' }, {}],
    ['an option', { targetSessionAttrs: 'master' as 'primary' }, {}],
    ['the environment', {}, { PGTARGETSESSIONATTRS: 'master' }],
  ])('refuses what it does not know, in %s', (_where, options, env) => {
    expect(() => readServers(options, env)).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringContaining('prefer-standby') }),
    );
  });
});
