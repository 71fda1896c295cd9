import { describe, expect, it } from 'vitest';
import { Container, MetadataInjector, Registration, type IContainer } from '../src/index.js';
import { verify } from '../src/tools.js';
import { openRequest } from './support/scopes.js';

interface User {
  id: string;
  name: string;
}
interface UserRepository {
  findAll(): Promise<User[]>;
}
interface AuditLogger {
  log(action: string, data: object): Promise<void>;
}

/** A handler as a host would write it: it knows a scope and string keys. */
async function listUsers(request: { container: IContainer }): Promise<User[]> {
  const users = await request.container.resolve<UserRepository>('IUserRepository').findAll();
  await request.container.resolve<AuditLogger>('IAuditLogger').log('users_listed', { count: users.length });
  return users;
}

describe('a test container made of values alone', () => {
  const ada = { id: '1', name: 'Ada' };
  const values = () => {
    const records: object[] = [];
    const app = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
      Registration.fromValue({ findAll: async () => [ada] }).to('IUserRepository'),
      Registration.fromValue({ log: async (action: string, data: object) => void records.push({ action, data }) }).to(
        'IAuditLogger',
      ),
      Registration.fromValue({ requestId: 'r1', startTime: new Date(0) }).to('IRequestContext'),
    );
    return { app, records };
  };

  it('stands in for the application: handlers use its values', async () => {
    const { app, records } = values();
    await using container = openRequest(app);

    expect(await listUsers({ container })).toEqual([ada]);
    expect(records).toEqual([{ action: 'users_listed', data: { count: 1 } }]);
    expect(container.resolve('IRequestContext')).toBe(app.resolve('IRequestContext'));
  });

  it('may be the scope itself, without a request around the handler', async () => {
    const { app } = values();
    expect(await listUsers({ container: app })).toEqual([ada]);
  });

  it('takes one more value without being built again', async () => {
    const { app } = values();
    await using container = openRequest(app);
    container.addRegistration(Registration.fromValue({ findAll: async () => [] }).to('IUserRepository'));

    expect(await listUsers({ container })).toEqual([]);
    expect(await listUsers({ container: openRequest(app) })).toEqual([ada]);
  });

  it('passes verify, and leaves its values alone when it is disposed', async () => {
    let disposed = 0;
    const { app } = values();
    app.addRegistration(Registration.fromValue({ dispose: () => disposed++ }).to('IDatabasePool'));
    verify(app, { tags: ['request'], scopes: [{ tags: ['transaction'], registers: ['ISession'] }] });
    openRequest(app).resolve('IDatabasePool');
    await app.dispose();

    expect(disposed).toBe(0);
  });
});
