import { expect, test } from 'vitest';
import { onEveryStage } from './support/every-stage.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };

const LABELS = `${'b'.repeat(60)}.`.repeat(5);
/** An address of this many characters. */
const addressOf = (length: number): string => `${'a'.repeat(length - 1 - LABELS.length - 3)}@${LABELS}org`;

const ACCEPTED: readonly (readonly [what: string, input: object])[] = [
  ['a name of 1 character', { name: 'A' }],
  ['a name of 200 characters', { name: 'x'.repeat(200) }],
  ['a name of 200 characters that take two code units each', { name: '😀'.repeat(200) }],
  ['a tagged address', { email: 'ada+tag@mail.example.org' }],
  ['an address in quotes', { email: '"Ada L."@example.org' }],
  ['an address of 320 characters', { email: addressOf(320) }],
];

const REFUSED: readonly (readonly [what: string, input: unknown, error: string | RegExp])[] = [
  ['no name', { name: undefined }, 'body must have required properties name'],
  ['no fields at all', { name: undefined, email: undefined }, 'body must have required properties name, email'],
  ['an empty name', { name: '' }, 'body.name must not have fewer than 1 characters'],
  ['a name of 201 characters', { name: 'x'.repeat(201) }, 'body.name must not have more than 200 characters'],
  ['a name of 201 wide characters', { name: '😀'.repeat(201) }, 'body.name must not have more than 200 characters'],
  ['a number as name', { name: 1 }, 'body.name must be string'],
  ['null as name', { name: null }, 'body.name must be string'],
  ['a name with NUL', { name: 'A\0' }, 'body.name must be well-formed Unicode text without NUL'],
  ['half a character in a name', { name: 'A\uD800' }, 'body.name must be well-formed Unicode text without NUL'],
  ['an address without @', { email: 'ada' }, 'body.email must be an email address'],
  ['an address without host', { email: 'ada@' }, 'body.email must be an email address'],
  ['an address with a space', { email: 'a da@example.org' }, 'body.email must be an email address'],
  ['an address with NUL', { email: 'a\0@example.org' }, 'body.email must be an email address'],
  ['half a character in an address', { email: '\uDC00@example.org' }, 'body.email must be an email address'],
  ['an address with NUL in quotes', { email: '"a\0"@example.org' }, 'body.email must be an email address'],
  ['half a character in quotes', { email: '"\uD800"@example.org' }, 'body.email must be an email address'],
  ['an empty address', { email: '' }, 'body.email must be an email address'],
  ['a list as address', { email: ['ada@example.org'] }, 'body.email must be string'],
  ['an address of 321 characters', { email: addressOf(321) }, 'body.email must not have more than 320 characters'],
];

onEveryStage((stage) => {
  test.each(ACCEPTED)('accepts %s', async (_what, input) => {
    expect(await stage.post('/api/users', { ...ADA, ...input })).toMatchObject({ status: 201, body: input });
  });

  test.each(REFUSED)('refuses %s, and says where', async (_what, input, error) => {
    const answer = await stage.post('/api/users', { ...ADA, ...(input as object) });
    expect(answer).toMatchObject({ status: 400, body: { error } });
    expect(await stage.rows('SELECT id FROM users')).toEqual([]);
  });
});
