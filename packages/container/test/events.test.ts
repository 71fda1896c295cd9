import { channel } from 'node:diagnostics_channel';
import { describe, expect, it, vi } from 'vitest';
import { Container, hasTag, onDispose, Registration, scope, singleton } from '../src/index.js';
import { failing, holding, logged } from './support/ending.js';
import { CHANNELS, listen, uncaughtDuring, type Told } from './support/events.js';

function application(log: string[] = []): Container {
  return new Container({ tags: ['application'] }).addRegistration(
    logged(log, 'IPool').to('IPool'),
    logged(log, 'IUsers', 'IPool')
      .pipe(scope(hasTag('request')))
      .to('IUsers'),
  );
}

const open = (app: Container) => app.createScope({ tags: ['request'] });
const line = ({ name, scope: { tags }, key }: Told) => [name, ...tags, ...(key ? [String(key)] : [])].join(' ');

describe('what the diagnostics channels tell', () => {
  it('a request, its instances and the application, from the opening to the end, in order', async () => {
    const told: string[] = [];
    listen((event) => told.push(line(event)));
    const app = application();
    open(app).resolve('IUsers');
    await app.dispose();
    expect(told).toEqual([
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
    const told: Told[] = [];
    listen((event) => told.push(event));
    const app = application();
    const request = open(app);
    request.resolve('IPool');
    request.resolve('IPool');
    expect(told).toEqual([
      { name: 'scope:opened', scope: request },
      { name: 'instance:created', scope: app, key: 'IPool', milliseconds: expect.any(Number) },
    ]);
    expect(told.map((event) => event.scope)).toEqual([request, app]);
    expect(told[0]?.scope).toBe(request);
    expect(told[1]?.scope).toBe(app);
    expect(told[1]?.milliseconds).toBeGreaterThanOrEqual(0);
  });

  it('what an end failed with, and no error where it did not fail', async () => {
    const told: Told[] = [];
    const error = new Error('lost');
    const app = application().addRegistration(failing(error).to('IAudit'));
    app.resolve('IPool');
    app.resolve('IAudit');
    listen((event) => told.push(event), 'ambit:instance:disposed');
    await app.dispose().catch(() => undefined);
    expect(told).toStrictEqual([
      { name: 'instance:disposed', scope: app, key: 'IAudit', error },
      { name: 'instance:disposed', scope: app, key: 'IPool' },
    ]);
  });

  it('one end of an instance, though two functions end it', async () => {
    const told: string[] = [];
    const twice = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      onDispose(() => {}),
      onDispose(() => {}),
    );
    const app = new Container().addRegistration(twice.to('IFile'));
    app.resolve('IFile');
    listen((event) => told.push(line(event)), 'ambit:instance:disposed');
    await app.dispose();
    expect(told).toEqual(['instance:disposed IFile']);
  });

  it('nothing of an instance whose constructor threw', () => {
    const told: string[] = [];
    listen((event) => told.push(line(event)), 'ambit:instance:created');
    const broken = Registration.fromFactory(() => expect.fail('not today')).pipe(singleton());
    expect(() => new Container().addRegistration(broken.to('it')).resolve('it')).toThrow('not today');
    expect(told).toEqual([]);
  });

  it('a scope that ended once, though it was disposed twice, also when it had nothing to end', async () => {
    const told: string[] = [];
    const request = open(application());
    listen((event) => told.push(line(event)));
    await Promise.all([request.dispose(), request.dispose()]);
    expect(told).toEqual(['scope:closed request']);
  });

  it('that a scope has closed only when all its ends are done', async () => {
    const log: string[] = [];
    const request = holding(open(application()), logged(log, 'ended'));
    request.defer(() => Promise.resolve().then(() => log.push('deferred')));
    listen(() => log.push('closed'), 'ambit:scope:closed');
    await request.dispose();
    expect(log).toEqual(['deferred', 'ended', 'closed']);
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
    const told: string[] = [];
    const app = application();
    const first = open(app);
    first.resolve('IUsers');
    const stop = listen((event) => told.push(line(event)));
    const second = open(app);
    second.resolve('IUsers');
    await first.dispose();
    stop();
    await second.dispose();
    open(app);
    expect(told).toEqual([
      'scope:opened request',
      'instance:created request IUsers',
      'instance:disposed request IUsers',
      'scope:closed request',
    ]);
  });

  it('that throw break neither opening, nor resolving, nor ending', async () => {
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

  it('may resolve the instance they are told of', async () => {
    const seen: unknown[] = [];
    listen(({ scope: owner, key }) => seen.push(owner.resolve(key as string)), 'ambit:instance:created');
    const app = application();
    const errors = await uncaughtDuring(async () => void app.resolve('IPool'));
    expect(errors).toEqual([]);
    expect(seen).toEqual([app.resolve('IPool')]);
  });

  it('may use and end the scope they are told of', async () => {
    const log: string[] = [];
    listen(({ scope: opened }) => void opened.resolve('IUsers'), 'ambit:scope:opened');
    const request = open(application(log));
    await request.dispose();
    expect(log).toEqual(['IUsers']);
  });
});
