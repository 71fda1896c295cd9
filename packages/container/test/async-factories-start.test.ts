import { describe, expect, it } from 'vitest';
import { onStart, Registration, singleton } from '../src/index.js';
import { gate, turn } from './support/disposers.js';
import { openApplication } from './support/scopes.js';

describe('start() with async factories', () => {
  it('awaits what async factories make', async () => {
    const log: string[] = [];
    const { opened, open } = gate();
    const app = openApplication(
      Registration.fromFactory(() => opened.then(() => log.push('connected')))
        .pipe(singleton())
        .to('IPool'),
    );
    void app.resolve('IPool');
    const starting = app.start().then(() => log.push('started'));
    await turn();
    open();
    await starting;

    expect(log).toEqual(['connected', 'started']);
  });

  it('makes those with onStart, fails where one rejects, and the next start makes it again', async () => {
    const cause = new Error('no database');
    const log: string[] = [];
    let attempts = 0;
    const app = openApplication(
      Registration.fromFactory(() => (++attempts === 1 ? Promise.reject(cause) : Promise.resolve('pool')))
        .pipe(
          singleton(),
          onStart(async (pool) => log.push(await pool)),
        )
        .to('IPool'),
    );
    const error: unknown = await app.start().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IPool', cause });

    await app.start();
    expect(log).toEqual(['pool']);
  });

  it('fails where one without onStart is pending, and rejects then', async () => {
    const cause = new Error('no database');
    const { opened, open } = gate();
    const app = openApplication(
      Registration.fromFactory(() => opened.then(() => Promise.reject(cause)))
        .pipe(singleton())
        .to('IPool'),
    );
    void app.resolve('IPool');
    const starting = app.start();
    open();
    await expect(starting).rejects.toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IPool', cause });
  });
});

describe('an async factory that was resolved and has failed before start()', () => {
  const failing = (attempts: { left: number }) =>
    Registration.fromFactory(async () => {
      await Promise.resolve();
      if (attempts.left-- > 0) throw new Error('not yet');
      return {};
    }).pipe(singleton());

  it('is reported by start(), once', async () => {
    const app = openApplication(failing({ left: 1 }).to('IPool'));
    await expect(app.resolve<Promise<unknown>>('IPool')).rejects.toThrow('not yet');

    await expect(app.start()).rejects.toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IPool' });
    await expect(app.start()).resolves.toBeUndefined();
  });

  it('is forgotten when it has succeeded since', async () => {
    const app = openApplication(failing({ left: 1 }).to('IPool'));
    await expect(app.resolve<Promise<unknown>>('IPool')).rejects.toThrow('not yet');
    await app.resolve<Promise<unknown>>('IPool');

    await expect(app.start()).resolves.toBeUndefined();
  });
});
