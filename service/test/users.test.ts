import { describe, expect, test } from 'vitest';
import { onEveryStage } from './support/every-stage.js';
import type { Stage } from './support/stage.js';

interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

const ADA = { name: 'Ada', email: 'ada@example.org' };
const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function create(stage: Stage, input: object = ADA): Promise<User> {
  const { status, body } = await stage.post<User>('/api/users', input);
  expect(status).toBe(201);
  return body;
}

async function createThree(stage: Stage): Promise<[User, User, User]> {
  return [
    await create(stage, { ...ADA, name: 'first' }),
    await create(stage, { ...ADA, name: 'second' }),
    await create(stage, { ...ADA, name: 'third' }),
  ];
}

const NOT_FOUND = { status: 404, body: { error: 'User not found' } };

onEveryStage((stage) => {
  describe('a created user', () => {
    test('gets an id that the service assigned, and the fields of the request', async () => {
      const user = await create(stage);
      expect(user).toEqual({ id: expect.stringMatching(UUID_7), ...ADA });
    });

    test('is returned by its id and in the list', async () => {
      const user = await create(stage);
      expect(await stage.get(`/api/users/${user.id}`)).toMatchObject({ status: 200, body: user });
      expect(await stage.get('/api/users')).toMatchObject({ status: 200, body: [user] });
    });

    test('is found under its id in capitals, too', async () => {
      const user = await create(stage);
      expect(await stage.get(`/api/users/${user.id.toUpperCase()}`)).toMatchObject({ status: 200, body: user });
    });

    test('neither stores nor returns unknown properties', async () => {
      const user = await create(stage, { role: 'admin', id: 'mine', ...ADA, address: { street: 'Main' } });
      expect(Object.keys(user)).toEqual(['id', 'name', 'email']);
      expect(user.id).not.toBe('mine');
      expect((await stage.get(`/api/users/${user.id}`)).body).toEqual(user);
    });

    test('may have the name and the address of another', async () => {
      const [one, other] = [await create(stage), await create(stage)];
      expect(one.id).not.toBe(other.id);
    });

    test.each(['名前', 'Zoë', 'Zoe\u0308', '👩‍👩‍👧', 'עברית', `O'Hara"; --`, ' spaces ', '\uFFFF', '\t\n', '${x}'])(
      'keeps the name %j to the letter',
      async (name) => {
        const user = await create(stage, { ...ADA, name });
        expect((await stage.get<User>(`/api/users/${user.id}`)).body.name).toBe(name);
      },
    );
  });

  describe('the list', () => {
    test('is empty in a fresh service', async () => {
      expect(await stage.get('/api/users')).toMatchObject({ status: 200, body: [] });
    });

    test('has the oldest first', async () => {
      expect((await stage.get('/api/users')).body).toEqual([]);
      const users = await createThree(stage);
      expect((await stage.get('/api/users')).body).toEqual(users);
    });

    test('has at most as many users as ?limit= says', async () => {
      const [first, second] = await createThree(stage);
      expect((await stage.get('/api/users?limit=2')).body).toEqual([first, second]);
      expect((await stage.get('/api/users?limit=1000')).body).toHaveLength(3);
    });

    test('begins after the user that ?after= names', async () => {
      const [first, second, third] = await createThree(stage);
      expect((await stage.get(`/api/users?after=${first.id}`)).body).toEqual([second, third]);
      expect((await stage.get(`/api/users?limit=1&after=${first.id.toUpperCase()}`)).body).toEqual([second]);
      expect((await stage.get(`/api/users?after=${third.id}`)).body).toEqual([]);
    });

    test('ignores other parameters', async () => {
      const users = await createThree(stage);
      expect((await stage.get('/api/users?sort=name&page=2')).body).toEqual(users);
    });

    test.each(['0', '1001', '-1', '1.5', '1e2', 'all', '', '00001', '1&limit=2'])(
      'refuses ?limit=%s',
      async (limit) => {
        expect(await stage.get(`/api/users?limit=${limit}`)).toMatchObject({
          status: 400,
          body: { error: 'query.limit must be a whole number from 1 to 1000, given once' },
        });
      },
    );

    test.each(['', 'x', '%00', `${crypto.randomUUID()}&after=${crypto.randomUUID()}`])(
      'refuses ?after=%s',
      async (after) => {
        expect(await stage.get(`/api/users?after=${after}`)).toMatchObject({
          status: 400,
          body: { error: 'query.after must be the id of a user, given once' },
        });
      },
    );
  });

  describe('an id', () => {
    test('that no user has is not found', async () => {
      expect(await stage.get(`/api/users/${crypto.randomUUID()}`)).toMatchObject(NOT_FOUND);
    });

    test.each(['1', 'x', '%20', '%00', '%F0%9F%98%80', 'null', '%27%20OR%201=1', '%2e%2e%2f', 'a+b', '-'.repeat(36)])(
      'that cannot be one is not found: %s',
      async (id) => {
        expect(await stage.get(`/api/users/${id}`)).toMatchObject(NOT_FOUND);
      },
    );

    test('with something around it is not found', async () => {
      const { id } = await create(stage);
      for (const other of [`${id}x`, `{${id}}`, id.replaceAll('-', ''), `%20${id}`, `${id}%0A`]) {
        expect(await stage.get(`/api/users/${other}`)).toMatchObject(NOT_FOUND);
      }
    });
  });
});
