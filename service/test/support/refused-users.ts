const LABELS = `${'b'.repeat(60)}.`.repeat(5);
/** An address of this many characters. */
export const addressOf = (length: number): string => `${'a'.repeat(length - 1 - LABELS.length - 3)}@${LABELS}org`;

/** Input that every route for the creation of a user refuses, and the error message. */
export const REFUSED_USERS: readonly (readonly [what: string, input: object, error: string])[] = [
  ['no name', { name: undefined }, 'body must have required properties name'],
  ['an empty name', { name: '' }, 'body.name must not have fewer than 1 characters'],
  ['a name of 201 characters', { name: 'x'.repeat(201) }, 'body.name must not have more than 200 characters'],
  ['a number as name', { name: 1 }, 'body.name must be string'],
  ['a name with NUL', { name: 'A\0' }, 'body.name must be well-formed Unicode text without NUL'],
  ['an address without @', { email: 'ada' }, 'body.email must be an email address'],
  ['an address without host', { email: 'ada@' }, 'body.email must be an email address'],
  ['an address with NUL in quotes', { email: '"a\0"@example.org' }, 'body.email must be an email address'],
  [
    'an address with a line break in quotes',
    { email: '"a\r\nBcc: b"@example.org' },
    'body.email must be an email address',
  ],
  ['an address with an escape in quotes', { email: '"\u001B[2J"@example.org' }, 'body.email must be an email address'],
  ['half a character in quotes', { email: '"\uD800"@example.org' }, 'body.email must be an email address'],
  ['a list as address', { email: ['ada@example.org'] }, 'body.email must be string'],
  ['an address of 321 characters', { email: addressOf(321) }, 'body.email must not have more than 320 characters'],
];
