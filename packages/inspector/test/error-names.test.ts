import { expect, it } from 'vitest';
import { failure } from '../src/error-names.js';

const refused = (fields: object): Error =>
  new Error('23503 violated by canary', { cause: Object.assign(new Error('canary'), { code: '23503' }, fields) });

it.each([
  ['pg', { constraint: 'orders_voucher_fkey', table: 'orders', detail: 'Key (voucher)=(canary)' }],
  ['postgres.js', { constraint_name: 'orders_voucher_fkey', table_name: 'orders' }],
])('the constraint that was violated, and its table, are named as %s says them', (_, fields) => {
  expect(failure(refused(fields))).toEqual({
    error: 'Error 23503 foreign key violation of orders_voucher_fkey on orders',
    table: 'orders',
  });
});

it('nothing else is read from fields with these names', () => {
  const own = Object.assign(new Error('canary'), { constraint: 'canary', table: 'canary' });
  const unreadable = Object.defineProperty(new Error('canary'), 'constraint', {
    get: () => {
      throw new Error('canary');
    },
  });
  for (const error of [own, Object.assign(unreadable, { code: '23505' }), refused({ table: "can'ary", constraint: 7 })])
    expect(JSON.stringify(failure(error))).not.toMatch(/can|7/);
});
