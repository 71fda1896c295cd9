import { describe, expect, it } from 'vitest';
import { Container, Registration, singleton } from '../src/index.js';
import { holding, logged, slow } from './support/disposers.js';

describe('a second dispose', () => {
  it('gets the same promise, at once and later, also from await using, and disposes nothing twice', async () => {
    const log: string[] = [];
    const app = holding(new Container(), slow(log, 'pool'));
    const first = app.dispose();
    expect(app.dispose()).toBe(first);
    expect(app[Symbol.asyncDispose]()).toBe(first);
    await first;
    expect(app.dispose()).toBe(first);
    expect(log).toEqual(['pool is disposing', 'pool disposed']);
  });

  it('made by a disposer that does not await it does no harm', async () => {
    const log: string[] = [];
    const app = holding(new Container(), logged(log, 'pool'));
    let again: Promise<void> | undefined;
    app.defer(() => void (again = app.dispose()));
    const first = app.dispose();
    await first;
    expect(again).toBe(first);
    expect(log).toEqual(['pool']);
  });
});

describe('a scope that is disposed during a construction', () => {
  it.each([
    ['the constructor disposed its scope', (request: Container) => request],
    ['the constructor disposed the scope around it', (request: Container) => request.parent],
  ])('%s: resolve is refused, and the instance is disposed once, before the promise settles', async (_, which) => {
    const log: string[] = [];
    const request = holding(new Container().createScope(), logged(log, 'older'));
    let disposed: Promise<void> | undefined;
    class Impatient {
      constructor() {
        disposed = which(request)?.dispose();
      }
      dispose(): void {
        log.push('impatient');
      }
    }
    request.addRegistration(Registration.fromClass(Impatient).pipe(singleton()).to('it'));
    expect(() => request.resolve('it')).toThrow('AMBIT_DISPOSED');
    await disposed;
    expect(log).toEqual(['impatient', 'older']);
  });

  it('a constructor may open a scope, use it and dispose it', async () => {
    const log: string[] = [];
    class Migrated {
      readonly disposed: Promise<void>;
      constructor() {
        const job = holding(app.createScope({ tags: ['job'] }), logged(log, 'migration'));
        this.disposed = job.dispose();
        log.push('made');
      }
    }
    const app = new Container().addRegistration(Registration.fromClass(Migrated).pipe(singleton()).to('it'));
    await app.resolve<Migrated>('it').disposed;
    expect(log).toEqual(['migration', 'made']);
  });
});
