import { channel } from 'node:diagnostics_channel';
import { describe, expect, it, vi } from 'vitest';
import { Container, decorate, hasTag, Registration, scope, singleton } from '../src/index.js';
import { observeCreations } from '../src/tools.js';
import { failing, holding, logged } from './support/disposers.js';
import { CHANNELS, listen, type Published, uncaughtDuring } from './support/events.js';

function application(log: string[] = []): Container {
  return new Container({ tags: ['application'] }).addRegistration(
    logged(log, 'IPool').to('IPool'),
    logged(log, 'IUsers', 'IPool')
      .pipe(scope(hasTag('request')))
      .to('IUsers'),
  );
}

const open = (app: Container) => app.createScope({ tags: ['request'] });
const line = ({ name, scope: { tags }, key }: Published) => [name, ...tags, ...(key ? [String(key)] : [])].join(' ');

describe('what the diagnostics channels publish', () => {
  it('a request, its instances and the application, from the opening to the disposal, in order', async () => {
    const events: string[] = [];
    listen((event) => events.push(line(event)));
    const app = application();
    open(app).resolve('IUsers');
    await app.dispose();
    expect(events).toEqual([
      'scope:opened request',
      'instance:created application IPool',
      'instance:created request IUsers',
      'instance:disposed request IUsers',
      'scope:closed request',
      'instance:disposed application IPool',
      'scope:closed application',
    ]);
  });

  it('the scope itself, the one that owns the instance, and how long making it took', async () => {
    const events: Published[] = [];
    listen((event) => events.push(event));
    const app = application();
    const request = open(app);
    request.resolve('IPool');
    request.resolve('IPool');
    expect(events).toEqual([
      { name: 'scope:opened', scope: request },
      { name: 'instance:created', scope: app, key: 'IPool', milliseconds: expect.any(Number) },
    ]);
    expect(events.map((event) => event.scope)).toEqual([request, app]);
    expect(events[0]?.scope).toBe(request);
    expect(events[1]?.scope).toBe(app);
    expect(events[1]?.milliseconds).toBeGreaterThanOrEqual(0);
  });

  it('what a disposer threw, and no error where it did not throw', async () => {
    const events: Published[] = [];
    const error = new Error('lost');
    const app = application().addRegistration(failing(error).to('IAudit'));
    app.resolve('IPool');
    app.resolve('IAudit');
    listen((event) => events.push(event), 'ambit:instance:disposed');
    await app.dispose().catch(() => undefined);
    expect(events).toStrictEqual([
      { name: 'instance:disposed', scope: app, key: 'IAudit', error },
      { name: 'instance:disposed', scope: app, key: 'IPool' },
    ]);
  });

  it('nothing of an instance whose constructor threw', () => {
    const events: string[] = [];
    listen((event) => events.push(line(event)), 'ambit:instance:created');
    const broken = Registration.fromFactory(() => expect.fail('not today')).pipe(singleton());
    expect(() => new Container().addRegistration(broken.to('it')).resolve('it')).toThrow('not today');
    expect(events).toEqual([]);
  });

  it('a scope that closed once, though it was disposed twice, also when it had nothing to dispose', async () => {
    const events: string[] = [];
    const request = open(application());
    listen((event) => events.push(line(event)));
    await Promise.all([request.dispose(), request.dispose()]);
    expect(events).toEqual(['scope:closed request']);
  });

  it('that a scope has closed only when all its disposers are done', async () => {
    const log: string[] = [];
    const request = holding(open(application()), logged(log, 'disposed'));
    request.defer(() => Promise.resolve().then(() => log.push('deferred')));
    listen(() => log.push('closed'), 'ambit:scope:closed');
    await request.dispose();
    expect(log).toEqual(['deferred', 'disposed', 'closed']);
  });
});

describe('subscribers', () => {
  it('cost nothing when there are none: nothing is published', async () => {
    const spies = CHANNELS.map((name) => vi.spyOn(channel(name), 'publish'));
    const app = application();
    open(app).resolve('IUsers');
    await app.dispose();
    for (const spy of spies) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });

  it('may come and go while scopes are open, and hear what happens in between', async () => {
    const events: string[] = [];
    const app = application();
    const first = open(app);
    first.resolve('IUsers');
    const stop = listen((event) => events.push(line(event)));
    const second = open(app);
    second.resolve('IUsers');
    await first.dispose();
    stop();
    await second.dispose();
    open(app);
    expect(events).toEqual([
      'scope:opened request',
      'instance:created request IUsers',
      'instance:disposed request IUsers',
      'scope:closed request',
    ]);
  });

  it('that throw break neither opening, nor resolving, nor disposing', async () => {
    const log: string[] = [];
    listen(({ name }) => {
      throw new Error(name);
    });
    const errors = await uncaughtDuring(async () => {
      const app = application(log);
      const request = open(app);
      expect(request.resolve('IUsers')).toBe(request.resolve('IUsers'));
      await expect(app.dispose()).resolves.toBeUndefined();
    });
    expect(log).toEqual(['IUsers', 'IPool']);
    expect(errors).toHaveLength(7);
  });

  it('may resolve the instance they are notified of', async () => {
    const seen: unknown[] = [];
    listen(({ scope: owner, key }) => seen.push(owner.resolve(key as string)), 'ambit:instance:created');
    const app = application();
    const errors = await uncaughtDuring(async () => void app.resolve('IPool'));
    expect(errors).toEqual([]);
    expect(seen).toEqual([app.resolve('IPool')]);
  });
});

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

function observed(): Container {
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
    const app = observed();
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
    const app = observed();
    const made = collect(MADE);
    for (let i = 0; i < 20_000; i++) app.resolve('IHandler');
    expect(made).toHaveLength(20_000);
  });

  it('publishes what fails, from the service that threw to the one that was resolved, and does not change the error', () => {
    const app = observed();
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
    const app = observed();
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
