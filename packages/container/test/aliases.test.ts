import { describe, expect, it } from 'vitest';
import { hasTag, inject, Registration, scope, singleton } from '../src/index.js';
import { verify } from '../src/tools.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Pool {
  disposed = 0;
  dispose() {
    this.disposed++;
  }
}
const pool = Registration.fromClass(Pool);
const alias = (target: string) => Registration.alias(target);

describe('an alias', () => {
  it.each([
    ['the application’s singleton', pool.pipe(singleton()).to('IPool')],
    ['a request’s singleton', pool.pipe(singleton(), perRequest).to('IPool')],
    ['a value', Registration.fromValue(new Pool()).to('IPool')],
  ])('gives the instance of its target: %s', (_, target) => {
    const request = openRequest(openApplication(alias('IPool').to('IDatabase'), target));
    const transaction = openTransaction(request);

    expect(request.resolve('IDatabase')).toBe(request.resolve('IPool'));
    expect(transaction.resolve('IDatabase')).toBe(request.resolve('IPool'));
  });

  it('of a transient gives a new one each time', () => {
    const app = openApplication(pool.to('IPool'), alias('IPool').to('IDatabase'));

    expect(app.resolve('IDatabase')).toBeInstanceOf(Pool);
    expect(app.resolve('IDatabase')).not.toBe(app.resolve('IDatabase'));
  });

  it('does not dispose its target a second time', async () => {
    const app = openApplication(pool.pipe(singleton()).to('IPool'), alias('IPool').to('IDatabase'));
    const request = openRequest(app);
    const made = request.resolve<Pool>('IDatabase');
    await request.dispose();
    expect(made.disposed).toBe(0);
    await app.dispose();
    expect(made.disposed).toBe(1);
  });

  it('that is a singleton itself does not dispose its target, be that a singleton or a value', async () => {
    const value = new Pool();
    const app = openApplication(
      pool.pipe(singleton()).to('IPool'),
      alias('IPool').pipe(singleton()).to('IDatabase'),
      Registration.fromValue(value).to('IValue'),
      alias('IValue').pipe(singleton()).to('IOther'),
      alias('IPool').pipe(singleton(), perRequest).to('IRequestPool'),
    );
    const request = openRequest(app);
    const made = request.resolve<Pool>('IRequestPool');
    expect([app.resolve('IDatabase'), app.resolve('IOther')]).toEqual([made, value]);
    await request.dispose();
    expect(made.disposed).toBe(0);
    await app.dispose();

    expect([made.disposed, value.disposed]).toEqual([1, 0]);
  });

  it('of a class gives what is registered for the class', () => {
    const app = openApplication(pool.pipe(singleton()).to(Pool), Registration.alias(Pool).to('IPool'));
    expect(app.resolve('IPool')).toBe(app.resolve(Pool));
  });

  it('is injected like any other key', () => {
    class Users {
      constructor(@inject('IDatabase') readonly database: unknown) {}
    }
    const app = openApplication(pool.pipe(singleton()).to('IPool'), alias('IPool').to('IDatabase'));
    expect(app.resolve(Users).database).toBe(app.resolve('IPool'));
  });

  it('of a request’s key is refused on the application, and the path has both names', () => {
    const app = openApplication(pool.pipe(perRequest).to('IPool'), alias('IPool').to('IDatabase'));
    const error = refusal(() => app.resolve('IDatabase'));

    expect(error).toMatchObject({ code: 'AMBIT_OUT_OF_SCOPE', key: 'IPool', path: ['IDatabase', 'IPool'] });
    expect(openRequest(app).resolve('IDatabase')).toBeInstanceOf(Pool);
  });

  it('follows the target in the scope that asks', () => {
    const app = openApplication(Registration.fromValue('old').to('IPool'), alias('IPool').to('IDatabase'));
    const request = openRequest(app).addRegistration(Registration.fromValue('own').to('IPool'));
    const transaction = openTransaction(request).register('IPool', () => 'directly');

    expect([app, request, transaction].map((each) => each.resolve('IDatabase'))).toEqual(['old', 'own', 'directly']);
    app.addRegistration(Registration.fromValue('new').to('IPool'));
    expect(openRequest(app).resolve('IDatabase')).toBe('new');
  });

  it('may be limited to a scope and shadowed like any registration', () => {
    const app = openApplication(
      Registration.fromValue('main').to('IPool'),
      Registration.fromValue('replica').to('IReplica'),
      alias('IPool').to('IDatabase'),
      alias('IReplica').pipe(perRequest).to('IDatabase'),
      alias('IPool')
        .pipe(scope(hasTag('transaction')))
        .to('IDatabase'),
    );
    const request = openRequest(app);

    expect([app, request, openTransaction(request)].map((each) => each.resolve('IDatabase'))).toEqual([
      'main',
      'replica',
      'main',
    ]);
  });

  it('may be a member of a collection', () => {
    const app = openApplication(
      Registration.fromValue('a').to('IRule'),
      Registration.fromValue('special').to('ISpecial'),
      alias('ISpecial').to('IRule'),
    );
    expect(app.resolveAll('IRule')).toEqual(['a', 'special']);
  });

  it('of an alias works, however many in a row', () => {
    const app = openApplication(pool.pipe(singleton()).to('name 0'));
    for (let i = 0; i < 50; i++) app.addRegistration(alias(`name ${i}`).to(`name ${i + 1}`));

    expect(app.resolve('name 50')).toBe(app.resolve('name 0'));
  });

  it.each([
    ['itself', ['A']],
    ['one that leads back', ['A', 'B']],
    ['two that lead back', ['A', 'B', 'C']],
  ])('of %s is a cycle, and its path is drawn', (_, ring) => {
    const app = openApplication(...ring.map((key, i) => alias(ring[(i + 1) % ring.length]!).to(key)));
    const error = refusal(() => app.resolve('A'));

    expect(error).toMatchObject({ code: 'AMBIT_CYCLE', path: [...ring, 'A'] });
    expect(error.message).toContain([...ring, 'A'].join(' -> '));
    expect(refusal(() => verify(app)).problems.map(({ code }) => code)).toEqual(['AMBIT_CYCLE']);
  });

  it('of nothing is reported by resolve and by verify, with a hint', () => {
    const app = openApplication(pool.to('IPool'), alias('IPol').to('IDatabase'));
    const missing = {
      code: 'AMBIT_NOT_REGISTERED',
      key: 'IPol',
      path: ['IDatabase', 'IPol'],
      hint: "did you mean 'IPool'?",
    };

    expect(refusal(() => app.resolve('IDatabase'))).toMatchObject(missing);
    expect(refusal(() => verify(app)).problems).toMatchObject([missing]);
  });
});
