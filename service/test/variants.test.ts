import { Container, Registration } from '@ambit/container';
import { containerPlugin } from '@ambit/fastify';
import { fastify } from 'fastify';
import { describe, expect, test } from 'vitest';
import type { IAuditLogger } from '../src/audit/audit-logger.js';
import { userRoutes, type UserRoutesOptions } from '../src/index.js';
import type { NewUser } from '../src/users/user.js';
import type { IUserRepository } from '../src/users/user-repository.js';
import { onEveryStage } from './support/every-stage.js';
import { REFUSED_USERS } from './support/refused-users.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };

const PLAIN: UserRoutesOptions = { schema: false };

/** Writes down what it is asked to audit. */
class AuditNotes implements IAuditLogger {
  readonly notes: [action: string, data: object][] = [];
  readonly log = async (action: string, data: object): Promise<void> => void this.notes.push([action, data]);
}

/** A repository with one user, which writes down what it is asked to create. */
class OneUser implements IUserRepository {
  readonly user = { id: 'the id', ...ADA };
  readonly asked: NewUser[] = [];
  readonly findAll = async () => [this.user];
  readonly findById = async () => this.user;
  readonly create = async (data: NewUser) => {
    this.asked.push(data);
    return this.user;
  };
}

onEveryStage((stage) => {
  const isFastify = stage.variant === 'fastify';

  const audited = (): AuditNotes => {
    const audit = new AuditNotes();
    stage.replace(Registration.fromValue<IAuditLogger>(audit).to('IAuditLogger'));
    return audit;
  };

  test('user_created tells the new user, and on Express the request as well', async () => {
    const audit = audited();
    const { body, headers } = await stage.post<{ id: string }>('/api/users', ADA);
    const userId = body.id;
    const data = isFastify ? { userId } : { userId, requestId: headers.get('x-request-id') };
    expect(audit.notes).toEqual([['user_created', data]]);
  });

  test('user_created tells the same for a user created under a key', async () => {
    const audit = audited();
    const { body, headers } = await stage.post<{ id: string }>('/api/users', ADA, { 'idempotency-key': 'a-key' });
    const userId = body.id;
    const data = isFastify ? { userId } : { userId, requestId: headers.get('x-request-id') };
    expect(audit.notes).toEqual([['user_created', data]]);
  });

  test('the repository is given name and email only, on Express the body as it is', async () => {
    const users = new OneUser();
    stage.replace(Registration.fromValue<IUserRepository>(users).to('IUserRepository'));
    const answer = await stage.post('/api/users', { ...ADA, role: 'admin' });
    expect(answer).toMatchObject({ status: 201, body: users.user });
    expect(users.asked).toEqual([isFastify ? ADA : { ...ADA, role: 'admin' }]);
  });

  test('order_created is audited on Fastify only', async () => {
    const audit = audited();
    const { body } = await stage.post<{ id: string }>('/api/orders', ORDER);
    expect(audit.notes).toEqual(isFastify ? [['order_created', { orderId: body.id }]] : []);
  });

  test('an order that cannot be audited is not stored, on Fastify', async () => {
    const log = async (): Promise<never> => {
      throw new Error('The log is full');
    };
    stage.replace(Registration.fromValue<IAuditLogger>({ log }).to('IAuditLogger'));
    expect((await stage.post('/api/orders', ORDER)).status).toBe(isFastify ? 500 : 201);
    expect(await stage.rows('SELECT id FROM orders')).toHaveLength(isFastify ? 0 : 1);
  });

  test('users_listed is audited alike', async () => {
    const audit = audited();
    await stage.post('/api/users', ADA);
    await stage.get('/api/users');
    expect(audit.notes[1]).toEqual(['users_listed', { count: 1 }]);
  });
});

describe('the plain route for user creation on Fastify', () => {
  const serve = async () => {
    const [users, audit] = [new OneUser(), new AuditNotes()];
    const container = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromValue(users).to('IUserRepository'),
      Registration.fromValue(audit).to('IAuditLogger'),
      Registration.fromValue({ requestId: 'the request', startTime: new Date(), setUserId: () => undefined }).to(
        'IRequestContext',
      ),
    );
    const server = fastify();
    await server.register(containerPlugin, { container });
    await server.register(userRoutes, { prefix: '/api/users', ...PLAIN });
    return { server, users, audit };
  };

  test('hands the body to the repository, and audits the request', async () => {
    const { server, users, audit } = await serve();
    const answer = await server.inject({ method: 'POST', url: '/api/users', payload: { ...ADA, role: 'admin' } });
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toEqual(users.user);
    expect(users.asked).toEqual([{ ...ADA, role: 'admin' }]);
    expect(audit.notes).toEqual([['user_created', { userId: 'the id', requestId: 'the request' }]]);
    await server.close();
  });

  test.each(REFUSED_USERS)('refuses %s, as the other does', async (_what, input, error) => {
    const { server, users } = await serve();
    const answer = await server.inject({ method: 'POST', url: '/api/users', payload: { ...ADA, ...input } });
    expect([answer.statusCode, answer.json().message]).toEqual([400, error]);
    expect(users.asked).toEqual([]);
    await server.close();
  });
});
