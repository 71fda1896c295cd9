import { describe, expect, it } from 'vitest';
import { Registration, singleton } from '../src/index.js';
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

  it('of a class gives what is registered for the class', () => {
    const app = openApplication(pool.pipe(singleton()).to(Pool), Registration.alias(Pool).to('IPool'));
    expect(app.resolve('IPool')).toBe(app.resolve(Pool));
  });

  it('of a request’s key is refused on the application, and the path has both names', () => {
    const app = openApplication(pool.pipe(perRequest).to('IPool'), alias('IPool').to('IDatabase'));
    const error = refusal(() => app.resolve('IDatabase'));

    expect(error).toMatchObject({ code: 'AMBIT_OUT_OF_SCOPE', key: 'IPool', path: ['IDatabase', 'IPool'] });
    expect(openRequest(app).resolve('IDatabase')).toBeInstanceOf(Pool);
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
