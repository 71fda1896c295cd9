import { Container, Registration } from '@ambit/container';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { IAuditLogger } from '../src/logging/logger.js';
import type { IRequestContext } from '../src/ids.js';
import { HOST_VARIANTS } from '../src/config/config.js';
import { createHost, createLogger, type Host } from '../src/index.js';
import type { IUserRepository, User } from '../src/users/users.js';
import { type JsonResponse, request } from './support/http.js';

const ADA = { id: '1', name: 'Ada', email: 'ada@example.org' };

describe.each(HOST_VARIANTS)('a test container of values on %s', (variant) => {
  let users: User[];
  let audited: [action: string, data: object][];
  let host: Host;
  let url: string;

  beforeEach(async () => {
    users = [];
    audited = [];
    const repository: IUserRepository = {
      findAll: async () => users,
      findById: async (id) => users.find((user) => user.id === id) ?? null,
      create: async (data) => {
        const user = { id: String(users.length + 1), ...data };
        users.push(user);
        return user;
      },
    };
    const audit: IAuditLogger = { log: async (action, data) => void audited.push([action, data]) };
    const context: IRequestContext = { requestId: 'r1', startTime: new Date(0), setUserId: () => undefined };
    const container = new Container({ tags: ['test'] }).addRegistration(
      Registration.fromValue(repository).to('IUserRepository'),
      Registration.fromValue(audit).to('IAuditLogger'),
      Registration.fromValue(context).to('IRequestContext'),
    );
    host = await createHost(variant, container, { logger: createLogger('silent') });
    url = await host.listen(0, '127.0.0.1');
  });

  afterEach(() => host.close(0));

  const get = (path: string): Promise<JsonResponse<unknown>> => request(url, { path });

  test('serves the list', async () => {
    users.push(ADA);
    const response = await get('/api/users');
    expect(response).toMatchObject({ status: 200, body: [ADA] });
    expect(response.headers.get('x-request-id')).toBe('r1');
    expect(audited).toEqual([['users_listed', { count: 1 }]]);
  });

  test('serves one user by any id that the repository knows', async () => {
    users.push(ADA);
    expect(await get('/api/users/1')).toMatchObject({ status: 200, body: ADA });
    expect(await get('/api/users/2')).toMatchObject({ status: 404, body: { error: 'User not found' } });
  });

  test('creates a user', async () => {
    const { id: _, ...input } = ADA;
    expect(await request(url, { method: 'POST', path: '/api/users', body: input })).toMatchObject({
      status: 201,
      body: ADA,
    });
    expect(users).toEqual([ADA]);
    expect(audited).toEqual([
      ['user_created', variant === 'express' ? { userId: '1', requestId: 'r1' } : { userId: '1' }],
    ]);
  });

  test('gets 500 where a key is missing', async () => {
    const body = { items: [{ productId: 'apple', quantity: 1 }] };
    expect(await request(url, { method: 'POST', path: '/api/orders', body })).toMatchObject({
      status: 500,
      body: { error: 'Internal Server Error' },
    });
  });
});
