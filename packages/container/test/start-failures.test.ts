import { describe, expect, it } from 'vitest';
import { Container, onStart, Registration, singleton } from '../src/index.js';
import { gate, started, turn } from './support/disposers.js';

const broken = (error: unknown) =>
  Registration.fromFactory(() => ({})).pipe(
    singleton(),
    onStart(() => {
      throw error;
    }),
  );

describe('a start that fails', () => {
  it('names the key and keeps the cause, starts nothing further, and dispose disposes what was made', async () => {
    const log: string[] = [];
    const cause = new Error('the port is taken');
    const app = new Container({ tags: ['application'] }).addRegistration(
      started(log, 'IPool').to('IPool'),
      broken(cause).to('IServer'),
      started(log, 'ITimer').to('ITimer'),
    );
    const error: unknown = await app.start().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IServer', cause, tags: [['application']] });
    expect((error as Error).message).toContain('the port is taken');
    expect(log).toEqual(['IPool']);
    await app.dispose();
    expect(log).toEqual(['IPool', 'ITimer disposed', 'IPool disposed']);
  });

  it('is what the next start begins with', async () => {
    const log: string[] = [];
    let taken = true;
    const server = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      onStart(() => {
        if (taken) throw new Error('the port is taken');
        log.push('IServer');
      }),
    );
    const app = new Container().addRegistration(
      started(log, 'IPool').to('IPool'),
      server.to('IServer'),
      started(log, 'ITimer').to('ITimer'),
    );
    await expect(app.start()).rejects.toThrow('the port is taken');
    await expect(app.start()).rejects.toThrow('the port is taken');
    taken = false;
    await app.start();
    expect(log).toEqual(['IPool', 'IServer', 'ITimer']);
  });

  it('because a constructor threw passes that very error on, and starts nothing', async () => {
    const log: string[] = [];
    const error = new Error('no configuration');
    const app = new Container().addRegistration(
      started(log, 'IPool').to('IPool'),
      started(log, 'IServer', () => {
        throw error;
      }).to('IServer'),
    );
    await expect(app.start()).rejects.toBe(error);
    expect(log).toEqual([]);
  });
});

describe('dispose during start', () => {
  it('waits for the onStart that is running, starts nothing further, and disposes all that was made', async () => {
    const log: string[] = [];
    const { opened, open } = gate();
    const connecting = started(log, 'connecting').pipe(onStart(() => opened.then(() => log.push('connected'))));
    const app = new Container().addRegistration(connecting.to('IPool'), started(log, 'IServer').to('IServer'));
    const start = app.start().catch((error: unknown) => error);
    await turn();
    const disposed = app.dispose();
    await turn();
    expect(log).toEqual(['connecting']);
    open();
    await disposed;
    expect(log).toEqual(['connecting', 'connected', 'IServer disposed', 'connecting disposed']);
    expect(await start).toMatchObject({ code: 'AMBIT_DISPOSED' });
  });

  it('disposes everything, too, when the onStart that is running fails', async () => {
    const log: string[] = [];
    const { opened, open } = gate();
    const connect = async () => {
      await opened;
      throw new Error('no connection');
    };
    const app = new Container().addRegistration(started(log, 'IPool').pipe(onStart(connect)).to('IPool'));
    const start = app.start().catch((error: unknown) => error);
    await turn();
    const disposed = app.dispose();
    open();
    await disposed;
    expect(await start).toMatchObject({ code: 'AMBIT_START_FAILED', key: 'IPool' });
    expect(log).toEqual(['IPool', 'IPool disposed']);
  });
});
