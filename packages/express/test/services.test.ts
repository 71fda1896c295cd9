import { Container, MetadataInjector, Registration } from '@ambit/container';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { containerMiddleware, resolve, withDeps } from '../src/index.js';
import { respondToError, application, serve } from './support/app.js';

class Clock {
  readonly now = 42;
}

describe('resolve()', () => {
  it('gives what the request scope has', async () => {
    const { app, container } = application();
    container.addRegistration(
      Registration.fromValue('hello').to('IGreeting'),
      Registration.fromClass(Clock).to('IClock'),
    );
    app.get(
      '/',
      (req, res) =>
        void res.json([resolve(req, 'IGreeting'), resolve<Clock>(req, 'IClock').now, resolve(req, Clock).now]),
    );
    expect(await (await (await serve(app)).fetch('/')).json()).toEqual(['hello', 42, 42]);
  });

  it('says what is missing where no middleware ran', () => {
    expect(() => resolve({} as express.Request, 'IGreeting')).toThrow(
      expect.objectContaining({ code: 'AMBIT_NO_SCOPE' }),
    );
  });
});

describe('withDeps()', () => {
  it('calls the handler with its services, by their names', async () => {
    const { app, container } = application();
    container.addRegistration(
      Registration.fromValue('hello').to('IGreeting'),
      Registration.fromClass(Clock).to('IClock'),
    );
    app.get(
      '/:name',
      withDeps({ greeting: 'IGreeting', clock: Clock }, (req, res, { greeting, clock }) => {
        res.json([greeting, clock.now, req.params['name']]);
      }),
    );
    expect(await (await (await serve(app)).fetch('/you')).json()).toEqual(['hello', 42, 'you']);
  });

  it('takes the values of a test container', async () => {
    const users = { findAll: async () => [{ id: '1' }] };
    const container = new Container(new MetadataInjector(), { tags: ['application'] });
    container.addRegistration(Registration.fromValue(users).to('IUserRepository'));
    const app = express().use(containerMiddleware(container));
    app.get(
      '/',
      withDeps({ users: 'IUserRepository' }, async (_req, res, services) => {
        res.json(await (services.users as typeof users).findAll());
      }),
    );
    expect(await (await (await serve(app)).fetch('/')).json()).toEqual([{ id: '1' }]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
      'broken',
    ],
    ['rejects', () => Promise.reject(new Error('broken')), 'broken'],
    ['rejects with nothing', () => Promise.reject(undefined), 'The handler failed, and gave no reason'],
  ])('passes it on when the handler %s', async (_name, handler, error) => {
    const { app } = application();
    app.get('/', withDeps({}, handler));
    app.use(respondToError);
    expect(await (await (await serve(app)).fetch('/')).json()).toEqual({ error });
  });

  it('passes on that a service is not registered', async () => {
    const { app } = application();
    app.get(
      '/',
      withDeps({ users: 'IUserRepository' }, (_req, res) => void res.end()),
    );
    app.use(respondToError);
    const { error } = (await (await (await serve(app)).fetch('/')).json()) as { error: string };
    expect(error).toContain('IUserRepository');
  });
});
