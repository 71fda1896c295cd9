import { describe, expect, it } from 'vitest';
import { Registration, singleton } from '../src/index.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class First {}
class Second {}

const first = Registration.fromClass(First);
const second = Registration.fromClass(Second);

describe('two registrations of one key', () => {
  it('at one owner: the last one wins', () => {
    const app = openApplication(first.to('IThing'), second.to('IThing'));

    expect(app.resolve('IThing')).toBeInstanceOf(Second);
    expect(openRequest(app).resolve('IThing')).toBeInstanceOf(Second);
  });

  it('at one owner: the last one wins, added in the same call or in another', () => {
    const app = openApplication(first.to('IThing')).addRegistration(second.to('IThing'));
    expect(app.resolve('IThing')).toBeInstanceOf(Second);
    expect(app.addRegistration(first.to('IThing')).resolve('IThing')).toBeInstanceOf(First);
  });

  it('of different lifetimes: the last one decides', () => {
    const app = openApplication(first.to('IThing'), second.pipe(singleton()).to('IThing'));
    expect(app.resolve('IThing')).toBeInstanceOf(Second);
    expect(app.resolve('IThing')).toBe(app.resolve('IThing'));

    const reversed = openApplication(second.pipe(singleton()).to('IThing'), first.to('IThing'));
    expect(reversed.resolve('IThing')).toBeInstanceOf(First);
    expect(reversed.resolve('IThing')).not.toBe(reversed.resolve('IThing'));
  });

  it('in an application and its request: the request has its own, for itself and its transactions only', () => {
    const app = openApplication(first.pipe(singleton()).to('IThing'));
    const request = openRequest(app).addRegistration(second.pipe(singleton()).to('IThing'));

    expect(request.resolve('IThing')).toBeInstanceOf(Second);
    expect(openTransaction(request).resolve('IThing')).toBe(request.resolve('IThing'));
    expect(app.resolve('IThing')).toBeInstanceOf(First);
    expect(openRequest(app).resolve('IThing')).toBe(app.resolve('IThing'));
  });

  it('leave the neighbour keys as they were', () => {
    const app = openApplication(first.pipe(singleton()).to('IThing'), first.pipe(singleton()).to('IOther'));
    const other = app.resolve('IOther');
    const request = openRequest(app).addRegistration(second.pipe(singleton()).to('IThing'));

    expect(request.resolve('IThing')).toBeInstanceOf(Second);
    expect(request.resolve('IOther')).toBe(other);
  });

  it('with different predicates apply each in its own scope', () => {
    const perApplication = first.pipe(singleton()).to('IThing');
    for (const registrations of [
      [perApplication, second.pipe(perRequest).to('IThing')],
      [second.pipe(perRequest).to('IThing'), perApplication],
    ]) {
      const app = openApplication(...registrations);
      const request = openRequest(app);

      expect(app.resolve('IThing')).toBeInstanceOf(First);
      expect(request.resolve('IThing')).toBeInstanceOf(Second);
      expect(openTransaction(request).resolve('IThing')).toBeInstanceOf(Second);
    }
  });

  it('keep to the nearer owner, even when the farther one was added later', () => {
    const app = openApplication(second.pipe(singleton(), perRequest).to('IThing'));
    const request = openRequest(app);
    app.addRegistration(first.pipe(singleton()).to('IThing'));

    expect(request.resolve('IThing')).toBeInstanceOf(Second);
    expect(openRequest(app).resolve('IThing')).toBeInstanceOf(Second);
    expect(app.resolve('IThing')).toBeInstanceOf(First);
  });

  it('at one owner, added to two containers: the nearer container has the say', () => {
    const app = openApplication(first.pipe(perRequest).to('IThing'));
    const request = openRequest(app).addRegistration(second.to('IThing'));
    app.addRegistration(first.pipe(perRequest).to('IThing'));

    expect(request.resolve('IThing')).toBeInstanceOf(Second);
    expect(openRequest(app).resolve('IThing')).toBeInstanceOf(First);
  });
});

describe('one registration object', () => {
  it('added to two applications makes two singletons', () => {
    const registration = first.pipe(singleton()).to('IThing');
    const [one, other] = [openApplication(registration), openApplication(registration)];

    expect(one.resolve('IThing')).toBe(one.resolve('IThing'));
    expect(one.resolve('IThing')).not.toBe(other.resolve('IThing'));
  });

  it('added to the application and to a request makes a singleton in each', () => {
    const registration = first.pipe(singleton()).to('IThing');
    const app = openApplication(registration);
    const request = openRequest(app).addRegistration(registration);

    expect(request.resolve('IThing')).toBe(request.resolve('IThing'));
    expect(request.resolve('IThing')).not.toBe(app.resolve('IThing'));
    expect(openRequest(app).resolve('IThing')).toBe(app.resolve('IThing'));
  });

  it('added to the application and to a request is two members of the request’s collection', () => {
    const registration = first.pipe(singleton()).to('IThing');
    const app = openApplication(registration);
    const request = openRequest(app).addRegistration(registration);

    expect(request.resolveAll('IThing')).toEqual([app.resolve('IThing'), request.resolve('IThing')]);
  });

  it('is not changed by what is piped to it afterwards', () => {
    const plain = Registration.fromClass(First);
    const kept = plain.pipe(singleton());
    const app = openApplication(plain.to('IPlain'), kept.to('IKept'), kept.pipe(perRequest).to('IRequestKept'));

    expect(app.resolve('IPlain')).not.toBe(app.resolve('IPlain'));
    expect(app.resolve('IKept')).toBe(app.resolve('IKept'));
    expect(openRequest(app).resolve('IKept')).toBe(app.resolve('IKept'));
    expect(openRequest(app).resolve('IRequestKept')).not.toBe(openRequest(app).resolve('IRequestKept'));
  });
});
