import { describe, expect, it } from 'vitest';
import { hasTag, Registration, scope, singleton } from '../src/index.js';
import { override } from '../src/tools.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const needing = (...needs: string[]) => Registration.fromFactory((...got: unknown[]) => ({ got }), needs);

describe('an instance that exists stays available', () => {
  it('when the override that it was made with is taken back', () => {
    const app = openApplication(needing('X').pipe(singleton()).to('S'));
    const restore = override(app, Registration.fromValue('fake').to('X'));
    const made = app.resolve('S');
    restore[Symbol.dispose]();

    expect(refusal(() => app.resolve('X')).code).toBe('AMBIT_NOT_REGISTERED');
    expect(app.resolve('S')).toBe(made);
    expect(openRequest(app).resolve('S')).toBe(made);
  });

  it('when a later registration closes a circular dependency', () => {
    const app = openApplication(needing('X').pipe(singleton()).to('S'), Registration.fromValue(1).to('X'));
    const made = app.resolve('S');
    app.addRegistration(needing('S').pipe(singleton()).to('X'));

    expect(app.resolve('S')).toBe(made);
    // What is new is made with what exists.
    expect(app.resolve('X')).toEqual({ got: [made] });
  });

  it('and what is missing beside it is what resolveAll() reports', () => {
    const app = openApplication(Registration.fromValue(1).to('X'), needing('X').pipe(singleton()).to('S'));
    app.resolve('S');
    app.addRegistration(needing('X').pipe(singleton()).to('X'), needing('Y').pipe(singleton()).to('S'));

    const error = refusal(() => app.resolveAll('S'));
    expect([error.code, error.key]).toEqual(['AMBIT_NOT_REGISTERED', 'Y']);
  });

  it('to what is made later and needs it', () => {
    const app = openApplication(
      needing('X').pipe(singleton()).to('S'),
      needing('S').pipe(singleton(), perRequest).to('IUsers'),
    );
    const restore = override(app, Registration.fromValue('fake').to('X'));
    const made = app.resolve('S');
    restore[Symbol.dispose]();

    expect(openRequest(app).resolve('IUsers')).toEqual({ got: [made] });
    expect(app.resolveAll('S')).toEqual([made]);
  });

  it('while one that does not exist is refused as ever', () => {
    const app = openApplication(
      needing('X')
        .pipe(singleton(), scope(hasTag('request')))
        .to('S'),
    );
    const request = openRequest(app);
    const restore = override(app, Registration.fromValue('fake').to('X'));
    const made = request.resolve('S');
    restore[Symbol.dispose]();

    expect(request.resolve('S')).toBe(made);
    expect(refusal(() => openRequest(app).resolve('S')).code).toBe('AMBIT_NOT_REGISTERED');
  });
});
