import { Container, Registration } from '@ambit/container';
import { openScopes, override, verify } from '@ambit/container/tools';
import { describe, expect, it } from 'vitest';
import { buildServer, createAppContainer } from '../simplified-fastify.js';
import { application, scopeClosed } from './support/application.js';
import { hosts } from './support/hosts.js';

const ada = { name: 'Ada', email: 'ada@example.com' };
const grace = { name: 'Grace', email: 'grace@example.com' };

describe.each(hosts)('$name', (host) => {
  it('has a registration for every dependency', () => {
    expect(() => verify(host.createAppContainer(), { tags: ['request'] })).not.toThrow();
  });

  it('lists no users at first', async () => {
    const { get } = await application(host);
    expect(await get('/users')).toEqual({ status: 200, body: [] });
  });

  it('responds 201 with the created user and its id, and ignores other fields of the body', async () => {
    const { post } = await application(host);
    const response = await post('/users', JSON.stringify({ ...ada, id: '7', admin: true }));
    expect(response).toEqual({ status: 201, body: { id: '1', ...ada } });
  });

  it('keeps users between requests, and numbers them', async () => {
    const { get, post } = await application(host);
    await post('/users', JSON.stringify(ada));
    await post('/users', JSON.stringify(grace));
    const users = [
      { id: '1', ...ada },
      { id: '2', ...grace },
    ];
    expect(await get('/users')).toEqual({ status: 200, body: users });
  });

  it('shares no users with another application', async () => {
    const { post } = await application(host);
    await post('/users', JSON.stringify(ada));
    const other = await application(host);
    expect(await other.get('/users')).toEqual({ status: 200, body: [] });
  });

  it('logs the listing as AUDIT: users_listed, with the number of users', async () => {
    const { get, lines } = await application(host);
    await get('/users');
    expect(lines).toMatchObject([{ level: 'info', message: 'AUDIT: users_listed', data: { count: 0 } }]);
  });

  it('logs the creation as AUDIT: user_created, with the id of the user', async () => {
    const { lines, post } = await application(host);
    await post('/users', JSON.stringify(ada));
    expect(lines).toMatchObject([{ level: 'info', message: 'AUDIT: user_created' }]);
    const requestId = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/) as string;
    expect(lines[0]?.data).toEqual(host.isExpress ? { userId: '1', requestId } : { userId: '1' });
  });

  it('uses the services of a test container', async () => {
    const container = new Container({ tags: ['application'] }).addRegistration(
      Registration.fromValue({
        findAll: async () => [{ id: '9', ...grace }],
        create: async () => ({ id: '10', ...ada }),
      }).to('IUserRepository'),
      Registration.fromValue({ log: async () => undefined }).to('IAuditLogger'),
      Registration.fromValue({ requestId: 'r1' }).to('IRequestContext'),
      Registration.fromValue(console).to('ILogger'),
    );
    const { get, post } = await application(host, container);
    expect((await get('/users')).body).toEqual([{ id: '9', ...grace }]);
    expect((await post('/users', JSON.stringify(ada))).body).toEqual({ id: '10', ...ada });
  });

  it('disposes the scope of each request', async () => {
    const { container, get, post } = await application(host);
    for (const request of [
      () => get('/users'),
      () => post('/users', JSON.stringify(ada)),
      () => post('/users', '{}'),
    ]) {
      const closed = scopeClosed(container);
      await request();
      await closed;
      expect(openScopes(container)).toEqual([]);
    }
  });

  describe('when the repository fails', () => {
    const error = new Error('the list is on fire');
    const broken = () => {
      const container = host.createAppContainer();
      const fail = () => Promise.reject(error);
      override(container, Registration.fromValue({ findAll: fail, create: fail }).to('IUserRepository'));
      return application(host, container);
    };

    it.each(['GET', 'POST'])(
      'responds to %s with 500 without the message of the error, and logs the error',
      async (method) => {
        const { get, lines, post } = await broken();
        const response = method === 'GET' ? await get('/users') : await post('/users', JSON.stringify(ada));
        expect(response).toEqual({ status: 500, body: { error: 'Internal Server Error' } });
        expect(lines).toMatchObject([{ level: 'error', message: 'A request failed', data: error }]);
      },
    );

    it('disposes the scope after the response, not at the error', async () => {
      const { container, get, lines } = await broken();
      const closed = scopeClosed(container);
      await get('/users');
      await closed;
      expect([lines[0]?.openScopes, openScopes(container).length]).toEqual([1, 0]);
    });
  });

  describe('refuses with a 4xx that says why, logs nothing and stores nothing, for', () => {
    it.each([
      ['a body without a name', JSON.stringify({ email: ada.email })],
      ['an empty name', JSON.stringify({ ...ada, name: '' })],
      ['a name that is a number', JSON.stringify({ ...ada, name: 5 })],
      ['a body without an email', JSON.stringify({ name: ada.name })],
      ['an email that is none', JSON.stringify({ ...ada, email: 'ada' })],
      ['a list', '[]'],
      ['null', 'null'],
      ['an empty body', ''],
      ['what is no JSON', '{"name":'],
      ['what does not say that it is JSON', JSON.stringify(ada), 'text/plain'],
    ])('%s', async (_what, body, type = 'application/json') => {
      const { get, lines, post } = await application(host);
      expect(await post('/users', body, type)).toEqual({
        status: 400,
        body: { error: expect.stringMatching(/\w/) as string },
      });
      expect(lines).toEqual([]);
      expect((await get('/users')).body).toEqual([]);
    });
  });

  it('responds to other paths with 404', async () => {
    const { get } = await application(host);
    expect(await get('/nothing')).toEqual({ status: 404, body: { error: 'Not found' } });
  });
});

describe('simplified-fastify', () => {
  it('has no error hook', async () => {
    const server = await buildServer(createAppContainer());
    await server.ready();
    const routes = server.printRoutes({ includeHooks: true });
    await server.close();
    expect(routes).toContain('(onRequest)');
    expect(routes).toContain('(onResponse)');
    expect(routes).not.toContain('(onError)');
  });
});
