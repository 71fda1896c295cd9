import { hasTag, Registration, scope } from '@ambit/container';
import { expect, test } from 'vitest';
import type { IAuditLogger } from '../src/logging/logger.js';
import type { IUserRepository, NewUser, User } from '../src/users/users.js';
import { onBothHosts } from './support/stage.js';
import { addressOf } from './support/refused-users.js';
import { ordersAnd } from './support/replacements.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };

/** Records what is audited. */
class AuditNotes implements IAuditLogger {
  readonly notes: [action: string, data: object][] = [];
  readonly log = async (action: string, data: object): Promise<void> => void this.notes.push([action, data]);
}

/** A repository with one user, which records what is created. */
class OneUser implements IUserRepository {
  readonly user: User;
  readonly asked: NewUser[] = [];
  constructor(user: Partial<User> = { id: 'the id', ...ADA }) {
    this.user = user as User;
  }
  readonly findAll = async () => [this.user];
  readonly findById = async () => this.user;
  readonly create = async (data: NewUser) => {
    this.asked.push(data);
    return this.user;
  };
}

onBothHosts((stage) => {
  const isFastify = stage.variant === 'fastify';

  const audited = (): AuditNotes => {
    const audit = new AuditNotes();
    stage.replace(Registration.fromValue<IAuditLogger>(audit).to('IAuditLogger'));
    return audit;
  };

  test.each([
    ['without a key', {}],
    ['under a key', { 'idempotency-key': 'a-key' }],
  ])('%s user_created tells the new user, and on Express the request as well', async (_how, sent) => {
    const audit = audited();
    const { body, headers } = await stage.post<{ id: string }>('/api/users', ADA, sent);
    const userId = body.id;
    const data = isFastify ? { userId } : { userId, requestId: headers.get('x-request-id') };
    expect(audit.notes).toEqual([['user_created', data]]);
  });

  const holding = (user?: Partial<User>): OneUser => {
    const users = new OneUser(user);
    stage.replace(Registration.fromValue<IUserRepository>(users).to('IUserRepository'));
    return users;
  };

  test.each([
    ['without a key', {}],
    ['under a key', { 'idempotency-key': 'a-key' }],
  ])('%s the repository receives only name and email, on Express the whole body', async (_how, headers) => {
    const users = holding();
    const response = await stage.post('/api/users', { ...ADA, role: 'admin' }, headers);
    expect(response).toMatchObject({ status: 201, body: users.user });
    expect(users.asked).toEqual([isFastify ? ADA : { ...ADA, role: 'admin' }]);
  });

  test.each([
    ['without an id', ADA],
    ['with an id of any text, and a name that no request may give', { ...ADA, id: '', name: '' }],
    ['with a name and an address longer than a request may give', { name: 'A'.repeat(201), email: addressOf(321) }],
  ])('a repository may return %s', async (_what, user) => {
    holding(user);
    const response = await stage.post('/api/users', ADA);
    expect([response.status, response.body]).toEqual([201, user]);
  });

  test.each([
    ['no name', { email: 'ada@example.org' }],
    ['no address', { name: 'Ada' }],
    ['an address that is none', { ...ADA, email: 'ada' }],
    ['a name that is no text', { ...ADA, name: 1 }],
    ['an id that is no text', { ...ADA, id: 1 }],
  ])('the result of a repository is validated on Fastify: %s is our fault', async (_what, user) => {
    holding(user as object);
    const response = await stage.post('/api/users', ADA);
    const failure = { status: 500, body: { error: 'Internal Server Error' } };
    expect(response).toMatchObject(isFastify ? failure : { status: 201, body: user });
    if (!isFastify) return;
    const { err } = await stage.app.log.finds({ msg: 'request failed', status: 500 });
    expect(err).toMatchObject({ message: 'The response does not match its schema' });
  });

  test('order_created is audited by the audit logger of the transaction', async () => {
    const audit = new AuditNotes();
    const ofTransaction = Registration.fromValue<IAuditLogger>(audit).pipe(scope(hasTag('transaction')));
    stage.replace(ofTransaction.to('IAuditLogger'));
    const { body } = await stage.post<{ id: string }>('/api/orders', ORDER);
    expect(audit.notes).toEqual(isFastify ? [['order_created', { orderId: body.id }]] : []);
  });

  test('an order is audited on Fastify before it is stored: after a failed COMMIT there is a record, and no order', async () => {
    stage.before('commit', () => Promise.reject(new Error('It went wrong')));
    expect((await stage.post('/api/orders', ORDER)).status).toBeGreaterThanOrEqual(500);
    expect(stage.app.log.audits).toMatchObject(isFastify ? [{ action: 'order_created' }] : []);
    expect(await stage.rows('SELECT id FROM orders')).toEqual([]);
  });

  test('what was refused or failed before COMMIT, and a single user, are not audited', async () => {
    await stage.rows(`INSERT INTO stock (product_id, level) VALUES ('apple', 0)`);
    expect((await stage.post('/api/orders', ORDER)).status).toBe(409);
    stage.replace(ordersAnd(() => Promise.reject(new Error('It went wrong'))));
    expect((await stage.post('/api/orders', { items: [{ productId: 'pear', quantity: 1 }] })).status).toBe(500);
    for (const path of ['/api/users', '/api/orders']) expect((await stage.post(path, {})).status).toBe(400);
    for (const path of ['/api/users?limit=0', `/api/users/${crypto.randomUUID()}`]) await stage.get(path);
    expect(stage.app.log.audits).toEqual([]);
  });

  test('an audit record has no userId of an anonymous caller, and never takes a fixed field from its data', async () => {
    await using request = stage.app.container.createScope({ tags: ['request'] });
    const audit = request.resolve('IAuditLogger');
    await audit.log('tried', {});
    await audit.log('tried', { type: 'x', action: 'y', timestamp: 'z', userId: 'u', requestId: 'r' });
    const [anonymous, record] = stage.app.log.audits;
    expect(anonymous).not.toHaveProperty('userId');
    expect(record).toMatchObject({ type: 'audit', action: 'tried', userId: 'u', requestId: 'r' });
    expect(record?.['timestamp']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test('an order that cannot be audited is not stored, on Fastify', async () => {
    const log = async (): Promise<never> => {
      throw new Error('The log is full');
    };
    stage.replace(Registration.fromValue<IAuditLogger>({ log }).to('IAuditLogger'));
    expect((await stage.post('/api/orders', ORDER)).status).toBe(isFastify ? 500 : 201);
    expect(await stage.rows('SELECT id FROM orders')).toHaveLength(isFastify ? 0 : 1);
  });
});
