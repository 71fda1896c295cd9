import { describe, expect, test } from 'vitest';
import { poolOver, POSTGRES_LANGUAGE, type Wire } from '../src/extension.js';

/** As on MySQL, where the isolation level is a statement of its own. */
const IN_PARTS = { ...POSTGRES_LANGUAGE, begin: () => ['SET TRANSACTION', 'START TRANSACTION'] };

describe('a connection whose BEGIN has several statements', () => {
  test.each(['SET TRANSACTION', 'START TRANSACTION'])('is not used again when %s fails', async (failing) => {
    const released: boolean[] = [];
    const wire: Wire = {
      isLost: false,
      send: (sql) => {
        if (sql === failing) throw Object.assign(new Error('refused'), { code: '55000' });
        return { rows: [], rowCount: null, command: sql, fields: [] };
      },
      release: (possiblyBroken) => void released.push(possiblyBroken),
    };
    const pool = poolOver({ language: IN_PARTS, max: 1, connect: () => wire, close: async () => undefined }, {});
    const connection = await pool.getConnection();
    await expect(connection.beginTransaction()).rejects.toMatchObject({ sqlState: '55000' });
    await expect(connection.commit()).rejects.toMatchObject({ code: 'AMBIT_TX_CONTROL_STATEMENT' });
    connection.release();
    expect(released).toEqual([true]);
  });
});
