import { describe, expect, test } from 'vitest';
import { onOneStage, type Stage } from './support/stage.js';
import { addressOf, REFUSED_USERS } from './support/refused-users.js';

interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

const ADA = { name: 'Ada', email: 'ada@example.org' };

async function create(stage: Stage, input: object = {}): Promise<User> {
  const { status, body } = await stage.post<User>('/api/users', { ...ADA, ...input });
  expect(status).toBe(201);
  return body;
}

const BAD_LIMIT = 'query.limit must be a whole number from 1 to 1000, given once';
const BAD_AFTER = 'query.after must be the id of a user, given once';
const ID = crypto.randomUUID();

onOneStage((stage) => {
  const NAMES = [
    'A',
    '名前',
    'Zoe\u0308',
    '👩‍👩‍👧',
    'עברית',
    `O'Hara"; --`,
    ' ',
    '\uFFFF',
    '\t\n',
    '${x}',
    '😀'.repeat(200),
  ];
  test.each(NAMES)('a user keeps the name %j to the letter', async (name) => {
    const { id } = await create(stage, { name });
    expect((await stage.get<User>(`/api/users/${id}`)).body.name).toBe(name);
  });

  test.each(['ada+tag@mail.example.org', '"Ada L."@example.org', addressOf(320)])(
    'a user may have the address %s',
    async (email) => expect((await create(stage, { email })).email).toBe(email),
  );

  test.each(REFUSED_USERS)('%s is refused, and the error says where', async (_what, input, error) => {
    const response = await stage.post('/api/users', { ...ADA, ...input });
    expect(response).toMatchObject({ status: 400, body: { error } });
    expect(await stage.rows('SELECT id FROM users')).toEqual([]);
  });

  test('unknown properties are neither stored nor returned', async () => {
    const user = await create(stage, { role: 'admin', id: 'mine', address: { street: 'Main' } });
    expect(Object.keys(user)).toEqual(['id', 'name', 'email']);
    expect(user.id).not.toBe('mine');
    expect((await stage.get(`/api/users/${user.id}`)).body).toEqual(user);
  });

  test('several users may have one name and address, and the list has the oldest first', async () => {
    expect((await stage.get('/api/users')).body).toEqual([]);
    const users = [await create(stage), await create(stage), await create(stage)];
    expect((await stage.get('/api/users')).body).toEqual(users);
    const [first, second, third] = users as [User, User, User];
    const pages: readonly (readonly [query: string, users: readonly User[]])[] = [
      ['limit=2', [first, second]],
      ['limit=1000', users],
      [`after=${first.id}`, [second, third]],
      [`limit=1&after=${first.id.toUpperCase()}`, [second]],
      [`after=${third.id}`, []],
      ['sort=name&page=2', users],
    ];
    for (const [query, page] of pages) expect((await stage.get(`/api/users?${query}`)).body).toEqual(page);
  });

  test.each([
    ...['0', '1001', '-1', '1.5', '1e2', 'all', '', '00001', '1&limit=2'].map((limit) => [`limit=${limit}`, BAD_LIMIT]),
    ...['', 'x', '%00', `${ID}&after=${ID}`].map((after) => [`after=${after}`, BAD_AFTER]),
  ])('?%s is refused', async (query, error) => {
    expect(await stage.get(`/api/users?${query}`)).toMatchObject({ status: 400, body: { error } });
  });

  describe('an id that no user has is not found', () => {
    const NOT_FOUND = { status: 404, body: { error: 'User not found' } };
    test.each([ID, '1', '%20', '%00', '%F0%9F%98%80', 'null', '%27%20OR%201=1', '%2e%2e%2f', 'a+b', '-'.repeat(36)])(
      '%s',
      async (id) => expect(await stage.get(`/api/users/${id}`)).toMatchObject(NOT_FOUND),
    );

    test('that of a user with something around it', async () => {
      const { id } = await create(stage);
      for (const other of [`${id}x`, `{${id}}`, id.replaceAll('-', ''), `%20${id}`, `${id}%0A`])
        expect(await stage.get(`/api/users/${other}`)).toMatchObject(NOT_FOUND);
    });
  });
});
