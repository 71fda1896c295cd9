import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Container, hasTag, MetadataInjector, Registration, scope, singleton } from '@ambit/container';
import { SCOPES } from './support/app.js';
import { hosts, type RunningApp } from './support/hosts.js';
import { Page } from './support/page.js';
import type { Step } from '../src/wire.js';

const canary = new RangeError('canary');

describe.each(hosts)('services that are created on $name', (host) => {
  let app: RunningApp;
  let page: Page;

  beforeEach(async () => {
    const container = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
      Registration.fromFactory(() => ({})).to('ITransient'),
      Registration.fromFactory((): never => {
        throw canary;
      }).to('IClock'),
      Registration.fromFactory((clock) => ({ clock }), ['IClock'])
        .pipe(singleton(), scope(hasTag('request')))
        .to('IOrders'),
      Registration.fromFactory((orders) => ({ orders }), ['IOrders']).to('IHandler'),
      Registration.fromFactory((missing) => ({ missing }), ['IMissing']).to('ILacking'),
    );
    const resolving = (key: string) => (from: Container) => (from.resolve(key) ? 200 : 500);
    app = await host.start(
      { container, scopes: SCOPES },
      {
        '/transient': (from) => (from.resolve('ITransient') && from.resolve('ITransient') ? 200 : 500),
        '/thrown': resolving('IHandler'),
        '/missing': resolving('ILacking'),
      },
    );
    page = await Page.open(app.url);
  });
  afterEach(async () => {
    page.leave();
    await app.close();
  });

  const failuresOf = async (path: string): Promise<readonly Step[]> => {
    const known = page.requests.size;
    const { status } = await fetch(`${app.url}${path}/1`);
    expect(status).toBe(500);
    await page.until(() => page.requests.size > known);
    const { id } = await page.request((one) => one.id > known && one.state === 'responded' && one.open === 0);
    const { steps, failures, trouble } = await page.details(id);
    expect([failures, trouble]).toEqual([1, true]);
    return steps.filter(({ kind }) => kind === 'failed');
  };

  it('are one step when one of them throws: its key, the path to it, and the name of the error', async () => {
    const expected = [{ key: 'IClock', path: ['IHandler', 'IOrders', 'IClock'], error: 'RangeError', span: 0 }];
    expect(await failuresOf('/thrown')).toMatchObject(expected);
    // It throws the same object again.
    expect(await failuresOf('/thrown')).toMatchObject(expected);
  });

  it('are one step when a key is not registered', async () => {
    expect(await failuresOf('/missing')).toMatchObject([
      { key: 'IMissing', path: ['ILacking', 'IMissing'], error: 'ContainerError AMBIT_NOT_REGISTERED' },
    ]);
  });

  it('are counted, transient ones without how many are alive', async () => {
    await fetch(`${app.url}/transient/1`);
    const count = (): unknown => page.services.get('application > request\nITransient');
    await page.until(() => count() !== undefined);
    expect(count()).toMatchObject({ created: 2 });
    expect(count()).not.toHaveProperty('alive');
  });
});
