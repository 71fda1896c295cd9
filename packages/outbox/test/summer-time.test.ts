import { canStartMariadb, mariadbPool, type OwnMariadb, startMariadb } from '@ambit/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOutbox } from '../src/index.js';

/** In Berlin it is three o'clock then, and two again. */
const END_OF_SUMMER_TIME = Date.parse('2026-10-25T01:00:00Z');

describe.skipIf(!canStartMariadb())('in the time zone of a MariaDB server', () => {
  let server: OwnMariadb;
  beforeAll(async () => void (server = await startMariadb([], { TZ: 'Europe/Berlin' })));
  afterAll(() => server.stop());

  test('no event is older or younger than it is around the end of summer time', async () => {
    const pool = mariadbPool(server.url, { max: 1 });
    const outbox = createOutbox(pool, { dialect: 'mariadb' });
    await outbox.createTable();
    const times = [-3_600_500, -500, 500, 3_600_500].map((ms) => END_OF_SUMMER_TIME + ms);
    const connection = await pool.getConnection();
    for (const time of times) {
      await connection.query(`SET timestamp = ${time / 1000}`);
      await outbox.publish(connection, { topic: 'noted', payload: 1 });
    }
    const rows = await connection.query<{ created_at: number }>('SELECT created_at FROM outbox ORDER BY position');
    connection.release();
    await pool.close();
    expect(rows.map(({ created_at: createdAt }) => createdAt)).toEqual(times);
  });
});
