import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { createPool } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { sqlite } from './support/databases.js';
import { request } from './support/http.js';
import { ServiceProcess } from './support/service-process.js';

/** 30 MB, more than sockets buffer, so the list is not read completely before its client reads. */
const FILL = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 6000)
  INSERT INTO users (id, name, email) SELECT printf('01900000-0000-7000-8000-%012d', n), '${'x'.repeat(5000)}', 'x@example.org'
  FROM numbers`;

test.each(HOST_VARIANTS)(
  'a list that fails midway closes the connection, and is reported only in the log, with %s',
  async (HOST_VARIANT) => {
    await using database = await sqlite.open();
    // NODE_ENV is not "test" in this process, so Express would write to stderr.
    await using service = new ServiceProcess({ ...database.env, HOST_VARIANT });
    const url = await service.url();
    await using pool = createPool(readConfig(database.env).database);
    await pool.query(FILL);

    const [response] = (await once(get(`${url}/api/users`, { agent: false }), 'response')) as [IncomingMessage];
    await pool.query('ALTER TABLE users RENAME TO users_elsewhere');
    await expect(text(response)).rejects.toThrow('aborted');
    await service.says('request failed');
    expect((await request(url, { path: '/health/live' })).status).toBe(200);
    service.kill('SIGTERM');
    const { code, output } = await service.exit;
    expect(code).toBe(0);
    const lines = output.trimEnd().split('\n');
    expect(lines.filter((line) => !line.startsWith('{'))).toEqual([]);
    expect(lines.filter((line) => line.includes('"request failed"'))).toHaveLength(1);
  },
);
