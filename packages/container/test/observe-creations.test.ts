import { describe, expect, it } from 'vitest';
import { Container, decorate, hasTag, Registration, scope, singleton } from '../src/index.js';
import { observeCreations } from '../src/tools.js';
import { listen, type Published } from './support/events.js';

const MADE = 'ambit:transient:created';
const FAILED = 'ambit:creation:failed';
function collect(name: string): Published[] {
  const all: Published[] = [];
  listen((event) => all.push(event), name);
  return all;
}

const broken = new TypeError('broken');
const breaks = (): never => {
  throw broken;
};

class Repository {
  constructor(readonly dependency: unknown) {}
}

function application(): Container {
  const app = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => ({})).to('ITransient'),
    Registration.fromClass(class Handler {}).to('IHandler'),
    Registration.fromFactory(() => ({}))
      .pipe(singleton())
      .to('ISingleton'),
    Registration.fromFactory(breaks).to('IBroken'),
    Registration.fromClass(Repository, ['IBroken'])
      .pipe(singleton(), scope(hasTag('request')))
      .to('IRepository'),
    Registration.fromFactory((from) => from.resolve('IRepository')).to('IUseCase'),
  );
  observeCreations(app);
  return app;
}

describe('observeCreations()', () => {
  it('publishes each transient service that is made, with its scope, and no singleton', () => {
    const app = application();
    const request = app.createScope({ tags: ['request'] });
    const made = collect(MADE);
    request.resolve('ITransient');
    request.resolve('IHandler');
    request.resolve('ISingleton');
    expect(made.map(({ scope: { tags }, key }) => [key, ...tags])).toEqual([
      ['ITransient', 'request'],
      ['IHandler', 'request'],
    ]);
    expect(made[0]?.milliseconds).toBeGreaterThanOrEqual(0);
  });

  it('still publishes them when the key is resolved so often that it gets functions of its own', () => {
    const app = application();
    const made = collect(MADE);
    for (let i = 0; i < 20_000; i++) app.resolve('IHandler');
    expect(made).toHaveLength(20_000);
  });

  it('publishes what fails, from the service that threw to the one that was resolved, and does not change the error', () => {
    const app = application();
    const failed = collect(FAILED);
    const request = app.createScope({ tags: ['request'] });
    expect(() => request.resolve('IUseCase')).toThrow(broken);
    expect(failed.map(({ key }) => key)).toEqual(['IBroken', 'IRepository', 'IUseCase']);
    expect(failed.map(({ error }) => error)).toEqual([broken, broken, broken]);
  });

  it('publishes a decorator that throws', () => {
    const app = new Container().addRegistration(
      Registration.fromFactory(() => 1)
        .pipe(decorate(breaks))
        .to('IDecorated'),
    );
    observeCreations(app);
    const failed = collect(FAILED);
    expect(() => app.resolve('IDecorated')).toThrow(broken);
    expect(failed.map(({ key }) => key)).toEqual(['IDecorated']);
  });

  it('publishes a key that cannot be resolved, once', () => {
    const app = application();
    const failed = collect(FAILED);
    expect(() => app.resolve('IUnknown')).toThrow("'IUnknown'");
    expect(failed.map(({ key }) => key)).toEqual(['IUnknown']);
  });

  it('publishes nothing of another application', () => {
    observeCreations(new Container());
    const made = collect(MADE);
    new Container().addRegistration(Registration.fromFactory(() => ({})).to('IOther')).resolve('IOther');
    expect(made).toEqual([]);
  });

  it('is refused on a container that is disposed', async () => {
    const app = new Container();
    await app.dispose();
    expect(() => observeCreations(app)).toThrow(expect.objectContaining({ code: 'AMBIT_DISPOSED' }));
  });
});
