import { createSqlitePool } from '@ambit/transaction/sqlite';
import { Container } from '@ambit/container';
import { createIdempotency } from '@ambit/idempotency';
import { createOutbox } from '@ambit/outbox';
import { type } from 'arktype';
import * as v from 'valibot';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

const taken = async (product: string): Promise<boolean> => product !== 'unknown';
const quantity = z.number().positive().default(1);
const SCHEMAS = {
  zod: z.object({ items: z.array(z.object({ product: z.string(), quantity })) }),
  'zod, asynchronously': z.object({ items: z.array(z.object({ product: z.string().refine(taken), quantity })) }),
  valibot: v.object({
    items: v.array(v.object({ product: v.string(), quantity: v.optional(v.pipe(v.number(), v.minValue(1)), 1) })),
  }),
  arktype: type({ items: type({ product: 'string', quantity: 'number > 0 = 1' }).array() }),
};

const pool = createSqlitePool({ path: ':memory:' });
const stored = (): Promise<{ payload: string }[]> => pool.query('SELECT payload FROM outbox');
beforeEach(() => createOutbox(pool, { dialect: 'sqlite' }).createTable());
afterEach(() => pool.query('DROP TABLE outbox'));

describe.each(Object.entries(SCHEMAS))('a payload with a schema of %s', (_, schema) => {
  const outbox = createOutbox(pool, { dialect: 'sqlite', topics: { ordered: schema } });

  test('is stored as the schema returns it', async () => {
    await outbox.publish(pool, { topic: 'ordered', payload: { items: [{ product: 'pen' }] } });
    expect((await stored()).map(({ payload }) => JSON.parse(payload) as unknown)).toEqual([
      { items: [{ product: 'pen', quantity: 1 }] },
    ]);
  });

  test('that does not fit is refused with the path and no value, and nothing is stored', async () => {
    const payload = { items: [{ product: 'pen', quantity: -4711 }] };
    const published = outbox.publish(pool, { topic: 'ordered', payload });
    await expect(published).rejects.toMatchObject({
      code: 'AMBIT_TX_PARAMETER',
      message: expect.stringMatching(
        /payload of ordered does not fit its schema at: items\.0\.quantity(?!.*4711)/,
      ) as string,
    });
    expect(await stored()).toEqual([]);
  });
});

test('topics types the payloads, and refuses other topics', async () => {
  const { zod, valibot, arktype } = SCHEMAS;
  const outbox = createOutbox(pool, { dialect: 'sqlite', topics: { zod, valibot, arktype } });
  // @ts-expect-error -- no such topic
  const other = outbox.publish(pool, { topic: 'toString', payload: {} });
  await expect(other).rejects.toThrow(/topics has no schema for 'toString'/);
  for (const topic of ['zod', 'valibot', 'arktype'] as const) {
    // @ts-expect-error -- the product is a text
    const wrong = outbox.publish(pool, { topic, payload: { items: [{ product: 7 }] } });
    await expect(wrong).rejects.toThrow(/items\.0\.product/);
  }
  expect(await stored()).toEqual([]);
});

describe.each([
  ['zod', z.uuid()],
  ['valibot', v.pipe(v.string(), v.uuid())],
  ['arktype', type('string.uuid')],
])('an idempotency key with a schema of %s', (_, key) => {
  test('that does not fit is refused with 400, and the work is not done', async () => {
    const idempotency = createIdempotency(pool, { dialect: 'sqlite', key });
    await idempotency.createTable();
    await using app = new Container({ tags: ['application'] });
    app.register('IDatabasePool', () => pool);
    const respond = (sent: string): Promise<{ status: number; replayed: boolean }> =>
      idempotency.respond(app, { key: sent, caller: undefined, endpoint: 'POST /orders', input: null }, async () => ({
        status: 201,
        body: null,
      }));
    await expect(respond('order-1')).rejects.toMatchObject({
      code: 'AMBIT_IDEMPOTENCY_KEY',
      problem: 'invalid',
      status: 400,
    });
    const uuid = crypto.randomUUID();
    for (const replayed of [false, true]) expect(await respond(uuid)).toMatchObject({ status: 201, replayed });
    await pool.query('DROP TABLE idempotency_keys');
  });
});
