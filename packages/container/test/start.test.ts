import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  all,
  Container,
  decorate,
  DisposeError,
  hasTag,
  type IContainer,
  onStart,
  Registration,
  scope,
  singleton,
} from '../src/index.js';
import { override } from '../src/tools.js';
import { gate, logged, started, turn } from './support/disposers.js';

describe('start', () => {
  it('starts dependencies first, whatever the order of registration', async () => {
    const log: string[] = [];
    const service = (key: string, ...needs: string[]) =>
      Registration.fromFactory(() => ({}), needs)
        .pipe(
          singleton(),
          onStart(() => log.push(key)),
        )
        .to(key);
    const app = new Container();
    app.addRegistration(service('IServer', 'IUsers', 'ICache'), service('ICache', 'IPool'));
    app.addRegistration(service('IUsers', 'ICache', 'IPool'), service('IPool'));
    await app.start();
    expect(log).toEqual(['IPool', 'ICache', 'IUsers', 'IServer']);
  });

  it.each<[string, (from: IContainer) => unknown]>([
    ['in a factory', (from) => from.resolve('IPool')],
    ['behind a transient', (from) => from.resolve('ITransient')],
    ['behind an alias', (from) => from.resolve('IAlias')],
  ])('starts dependencies first, where they are hidden %s', async (_, ask) => {
    const log: string[] = [];
    const app = new Container().addRegistration(
      started(log, 'ICache', ask).to('ICache'),
      Registration.fromFactory((from) => ({ pool: from.resolve('IPool') })).to('ITransient'),
      Registration.alias('IPool').to('IAlias'),
      started(log, 'IPool').to('IPool'),
    );
    await app.start();
    expect(log).toEqual(['IPool', 'ICache']);
  });

  it('of a request scope makes and starts what was registered above for such scopes, and nothing of the application', async () => {
    const log: string[] = [];
    const service = (key: string) =>
      Registration.fromFactory(() => ({})).pipe(
        singleton(),
        onStart(() => log.push(key)),
      );
    const app = new Container({ tags: ['application'] }).addRegistration(
      service('IServer').to('IServer'),
      service('ISession')
        .pipe(scope(hasTag('request')))
        .to('ISession'),
    );
    await app.createScope({ tags: ['request'] }).start();
    expect(log).toEqual(['ISession']);
  });

  it('starts one after another', async () => {
    const log: string[] = [];
    const app = new Container();
    const slowly = (key: string) =>
      onStart(async () => {
        log.push(`${key} starts`);
        await turn();
        log.push(`${key} started`);
      });
    const service = Registration.fromFactory(() => ({})).pipe(singleton());
    app.addRegistration(service.pipe(slowly('A')).to('A'), service.pipe(slowly('B')).to('B'));
    await app.start();
    expect(log).toEqual(['A starts', 'A started', 'B starts', 'B started']);
  });

  it('gives onStart the instance that everybody gets, made before or by it', async () => {
    const seen: unknown[] = [];
    const service = Registration.fromFactory(() => ({})).pipe(
      singleton(),
      onStart((instance) => seen.push(instance)),
    );
    const app = new Container().addRegistration(service.to('IEarly'), service.to('ILate'));
    const early = app.resolve('IEarly');
    await app.start();
    expect(seen).toHaveLength(2);
    expect(seen[0]).toBe(early);
    expect(seen[1]).toBe(app.resolve('ILate'));
  });

  it('gives onStart what was made up to its place in the pipe: the plain instance before a decorator, the wrapper after', async () => {
    const seen: unknown[] = [];
    const service = Registration.fromFactory(() => 'server').pipe(
      singleton(),
      onStart((plain) => seen.push(plain)),
      decorate((inner) => ({ inner })),
      onStart((wrapper) => seen.push(wrapper)),
    );
    const app = new Container().addRegistration(service.to('IServer'));
    await app.start();
    expect(seen).toEqual(['server', { inner: 'server' }]);
    expect(seen[1]).toBe(app.resolve('IServer'));
  });

  it('makes nothing that has no onStart and is needed by nothing that has', async () => {
    const make = vi.fn<() => object>(() => ({}));
    const app = new Container().addRegistration(Registration.fromFactory(make).pipe(singleton()).to('IPool'));
    await app.start();
    expect(make).not.toHaveBeenCalled();
  });

  it('does not make what an override replaces', async () => {
    const log: string[] = [];
    const app = new Container().addRegistration(
      started(log, 'real').to('IMailer'),
      started(log, 'other').to('IMailer'),
    );
    using _ = override(app, started(log, 'fake').to('IMailer'));
    await app.start();
    expect(log).toEqual(['fake']);
  });

  it('starts the members of a collection before what takes it', async () => {
    const log: string[] = [];
    const app = new Container();
    const server = Registration.fromFactory((hooks: unknown[]) => hooks, [all('IHook')]).pipe(
      singleton(),
      onStart(() => log.push('server')),
    );
    app.addRegistration(server.to('IServer'), started(log, 'first').to('IHook'), started(log, 'second').to('IHook'));
    await app.start();
    expect(log).toEqual(['first', 'second', 'server']);
  });

  it('starts nothing twice, at once or later, but what came later', async () => {
    const log: string[] = [];
    const app = new Container().addRegistration(started(log, 'IPool').to('IPool'));
    await Promise.all([app.start(), app.start()]);
    await app.start();
    expect(log).toEqual(['IPool']);
    app.addRegistration(started(log, 'ILate').to('ILate'));
    await app.start();
    expect(log).toEqual(['IPool', 'ILate']);
  });

  it('lets an onStart open a scope, use it and dispose it', async () => {
    const log: string[] = [];
    const app = new Container({ tags: ['application'] });
    const migrate = async () => {
      await using job = app.createScope({ tags: ['job'] });
      job.defer(() => log.push('job disposed'));
      log.push(job.resolve<string>('IDialect'));
    };
    const migrations = Registration.fromFactory(() => ({})).pipe(singleton(), onStart(migrate));
    app.addRegistration(migrations.to('IMigrations'), Registration.fromValue('sqlite').to('IDialect'));
    await app.start();
    expect(log).toEqual(['sqlite', 'job disposed']);
  });
});

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
