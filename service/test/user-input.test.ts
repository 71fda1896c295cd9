import { expect, test } from 'vitest';
import { onEveryStage } from './support/every-stage.js';
import { addressOf, REFUSED_USERS } from './support/refused-users.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };

const ACCEPTED: readonly (readonly [what: string, input: object])[] = [
  ['a name of 1 character', { name: 'A' }],
  ['a name of 200 characters', { name: 'x'.repeat(200) }],
  ['a name of 200 characters that take two code units each', { name: '😀'.repeat(200) }],
  ['a tagged address', { email: 'ada+tag@mail.example.org' }],
  ['an address in quotes', { email: '"Ada L."@example.org' }],
  ['an address of 320 characters', { email: addressOf(320) }],
];

onEveryStage((stage) => {
  test.each(ACCEPTED)('accepts %s', async (_what, input) => {
    expect(await stage.post('/api/users', { ...ADA, ...input })).toMatchObject({ status: 201, body: input });
  });

  test.each(REFUSED_USERS)('refuses %s, and says where', async (_what, input, error) => {
    const response = await stage.post('/api/users', { ...ADA, ...input });
    expect(response).toMatchObject({ status: 400, body: { error } });
    expect(await stage.rows('SELECT id FROM users')).toEqual([]);
  });
});
