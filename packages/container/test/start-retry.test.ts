import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Container, DisposeError, onStart, Registration, singleton } from '../src/index.js';
import { logged, started, turn } from './support/disposers.js';

// The fake clock of the test replaces the global timers only.
vi.mock('node:timers', () => ({
  setTimeout: (work: (given: unknown) => void, milliseconds: number, given: unknown) =>
    globalThis.setTimeout(() => work(given), milliseconds),
}));

describe('a repeated start', () => {
  it('runs only the onStart callbacks that have not completed', async () => {
    const log: string[] = [];
    let taken = true;
    const server = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      onStart(() => log.push('migrated')),
      onStart(() => {
        if (taken) throw new Error('the port is taken');
        log.push('listening');
      }),
    );
    const app = new Container().addRegistration(started(log, 'pool').to('IPool'), server.to('IServer'));
    await expect(app.start()).rejects.toThrow('the port is taken');
    taken = false;
    await app.start();
    await app.start();

    expect(log).toEqual(['pool', 'migrated', 'listening']);
  });

  it('keeps to the order of registration among those under one key', async () => {
    const log: string[] = [];
    const app = new Container().addRegistration(
      ...['mails', 'bills', 'reports'].map((worker) => started(log, worker).to('IWorker')),
    );
    await app.start();
    expect(log).toEqual(['mails', 'bills', 'reports']);
  });
});

describe('an onStart that hangs', () => {
  afterEach(() => void vi.useRealTimers());

  it('does not keep dispose() from disposing for more than five seconds, and the error names its key', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const log: string[] = [];
    const hanging = Registration.fromFactory(() => ({ dispose: () => void log.push('server') })).pipe(
      singleton(),
      onStart(() => new Promise(() => {})),
    );
    const app = new Container({ tags: ['application'] }).addRegistration(
      logged(log, 'pool').to('IPool'),
      hanging.to('IServer'),
    );
    app.resolve('IPool');
    void app.start();
    await turn();
    const disposing = app.dispose().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(4900);
    expect(log).toEqual([]);

    await vi.advanceTimersByTimeAsync(200);
    const error = await disposing;
    expect(error).toBeInstanceOf(DisposeError);
    expect((error as DisposeError).failures).toMatchObject([{ key: 'IServer', tags: [['application']] }]);
    expect((error as DisposeError).message).toContain("'IServer'");
    expect(log).toEqual(['server', 'pool']);
  });

  it('leaves no timer behind where it completes in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let listening!: () => void;
    const slow = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      onStart(() => new Promise<void>((resolve) => (listening = resolve))),
    );
    const app = new Container().addRegistration(slow.to('IServer'));
    vi.runAllTimers();
    const starting = app.start();
    await turn();
    const disposing = app.dispose();
    await turn();
    listening();
    await starting;
    await disposing;

    expect(vi.getTimerCount()).toBe(0);
  });
});

const entry = new URL('../dist/index.js', import.meta.url).href;

/** Runs the program beside this process, with the container as it was built. */
const run = (program: string) =>
  new Promise<{ code: unknown; stderr: string }>((resolve) => {
    const begin = `import { Container, onStart, Registration, singleton } from '${entry}';`;
    const cwd = fileURLToPath(new URL('..', import.meta.url));
    execFile(process.execPath, ['--input-type=module', '--eval', begin + program], { cwd }, (error, _, stderr) =>
      resolve({ code: error?.code ?? 0, stderr }),
    );
  });

it('a failed start that nobody awaits is an unhandled rejection, which Node reports', async () => {
  const { code, stderr } = await run(`
    const failing = onStart(() => { throw new Error('the port is taken') });
    const app = new Container().addRegistration(Registration.fromFactory(() => ({})).pipe(singleton(), failing).to('IServer'));
    app.start();
  `);

  expect(stderr).toContain('AMBIT_START_FAILED');
  expect(stderr).toContain('the port is taken');
  expect(code).toBe(1);
});

it('a failed start that is awaited is no unhandled rejection, also where dispose() runs at the same time', async () => {
  const { code, stderr } = await run(`
    const failing = onStart(async () => { throw new Error('the port is taken') });
    const app = new Container().addRegistration(Registration.fromFactory(() => ({})).pipe(singleton(), failing).to('IServer'));
    const starting = app.start().catch(() => {});
    await app.dispose();
    await starting;
  `);

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

it('start() makes nothing in an application that is disposed at once', async () => {
  const make = vi.fn<() => object>(() => ({}));
  const app = new Container().addRegistration(
    Registration.fromFactory(make)
      .pipe(
        singleton(),
        onStart(() => undefined),
      )
      .to('IPool'),
  );
  const starting = app.start().catch((error: unknown) => error);
  await app.dispose();

  expect(await starting).toMatchObject({ code: 'AMBIT_DISPOSED' });
  expect(make).not.toHaveBeenCalled();
});
