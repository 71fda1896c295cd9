import { describe, expect, it, vi } from 'vitest';
import { Container, Registration, singleton } from '../src/index.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const disposable = () => ({ dispose: vi.fn<() => void>() });

describe('a scope that a factory gives', () => {
  it('disposes with its owner where the factory made it', async () => {
    const pool = disposable();
    const tenant = new Container({ tags: ['tenant'] }).addRegistration(
      Registration.fromFactory(() => pool)
        .pipe(singleton())
        .to('IPool'),
    );
    const app = openApplication(
      Registration.fromFactory(() => tenant)
        .pipe(singleton())
        .to('ITenant'),
    );
    app.resolve<Container>('ITenant').resolve('IPool');
    await app.dispose();
    expect(pool.dispose).toHaveBeenCalledOnce();
  });

  it('is disposed with its owner where it is of another library', async () => {
    const foreign = { createScope: () => foreign, parent: {}, ...disposable() };
    const app = openApplication(
      Registration.fromFactory(() => foreign)
        .pipe(singleton())
        .to('IForeign'),
    );
    app.resolve('IForeign');
    await app.dispose();
    expect(foreign.dispose).toHaveBeenCalledOnce();
  });

  it('is left alone where it is one that the factory was made in', async () => {
    const app = openApplication();
    app.addRegistration(
      Registration.fromFactory((scope) => scope)
        .pipe(singleton())
        .to('IApplication'),
      Registration.fromFactory(() => app)
        .pipe(singleton(), perRequest)
        .to('IOutermost'),
    );
    const request = openRequest(app);
    expect(request.resolve('IOutermost')).toBe(request.resolve('IApplication'));
    await request.dispose();
    expect(app.disposed).toBe(false);
    await app.dispose();
  });
});
