import { Container, Registration, singleton } from '@ambit/container';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { IDatabasePool, TransactionError } from '../src/index.js';
import { type RequestWithHeaders, Sandboxes, type SandboxesOptions, SimulatedClock } from '../src/testing/index.js';
import { databases, type TestDatabase } from './support/databases.js';

const naming = (id: string): RequestWithHeaders => ({ headers: { 'x-ambit-sandbox': id } });

/** What a test of the options needs: a database in this process. */
const MEMORY = databases.filter(({ name }) => name === 'SQLite in memory');
const SEVERAL_WRITERS = databases.filter(({ hasSeveralWriters }) => hasSeveralWriters);

let database: TestDatabase;
let pool: IDatabasePool;
let app: Container;

async function openOn([kind]: typeof databases): Promise<void> {
  database = (await kind?.open()) ?? expect.fail('There is no such database');
  pool = database.pool();
  await pool.query('CREATE TABLE notes (id INTEGER PRIMARY KEY)');
  app = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => pool)
      .pipe(singleton())
      .to('IDatabasePool'),
  );
}

async function closeAll(): Promise<void> {
  vi.unstubAllEnvs();
  await app.dispose();
  await database.drop();
}

async function insertIn(scope: { resolve(key: 'IDatabasePool'): IDatabasePool }, id: number): Promise<void> {
  await scope.resolve('IDatabasePool').query('INSERT INTO notes (id) VALUES ($1)', [id]);
}

async function idsIn(scope: { resolve(key: 'IDatabasePool'): IDatabasePool }): Promise<number[]> {
  const rows = await scope.resolve('IDatabasePool').query<{ id: number }>('SELECT id FROM notes ORDER BY id');
  return rows.map(({ id }) => id);
}

describe.each(SEVERAL_WRITERS)('sandboxes, several on one $name', (kind) => {
  beforeEach(({ skip }) => (kind.missing ? skip('It is not there') : openOn([kind])));
  afterEach(closeAll);

  test('give each request the data of the sandbox that it names, and store nothing', async () => {
    const sandboxes = new Sandboxes(app);
    const [one, other] = [await sandboxes.create(), await sandboxes.create()];
    await insertIn(sandboxes.scopeOf(naming(one)), 1);
    await insertIn(sandboxes.scopeOf(naming(other)), 2);
    expect(await idsIn(sandboxes.scopeOf(naming(one)))).toEqual([1]);
    expect(await idsIn(sandboxes.scopeOf(naming(other)))).toEqual([2]);
    expect(await idsIn(sandboxes.scopeOf({ headers: {} }))).toEqual([]);
    await sandboxes.release(one);
    expect(await idsIn(sandboxes.scopeOf(naming(other)))).toEqual([2]);
    await sandboxes.close();
    expect(await idsIn(app)).toEqual([]);
    expect(sandboxes.size).toBe(0);
  });

  test('are refused when the pool has no connection left', async () => {
    pool = database.pool({ max: 1 });
    // Its connection is open already, however long that takes.
    await pool.query('SELECT 1');
    const sandboxes = new Sandboxes(app, { acquireTimeoutMs: 10 });
    await sandboxes.create();
    await expect(sandboxes.create()).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_TIMEOUT', status: 503 });
    expect(sandboxes.size).toBe(1);
  });

  test('are undone with the application, also where nobody closed them', async () => {
    const sandboxes = new Sandboxes(app);
    await insertIn(sandboxes.scopeOf(naming(await sandboxes.create())), 1);
    await app.dispose();
    expect(sandboxes.size).toBe(0);
    expect(await database.pool().query('SELECT id FROM notes')).toEqual([]);
    expect(pool.size).toMatchObject({ open: 0 });
  });

  test('that are closed while one is opened leave none open', async () => {
    const sandboxes = new Sandboxes(app);
    const creating = sandboxes.create();
    await sandboxes.close();
    await expect(creating).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
    expect(pool.size?.idle).toBe(pool.size?.open);
  });
});

describe('sandboxes', () => {
  beforeEach(() => openOn(MEMORY));
  afterEach(closeAll);

  test('are refused in production', () => {
    vi.stubEnv('NODE_ENV', 'production');
    expect(() => new Sandboxes(app)).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringContaining('NODE_ENV is production') }),
    );
  });

  test.each([
    { idleTimeoutMs: -1 },
    { header: '' },
    { register: true as unknown as () => void },
    { lockTimeoutMs: -1 },
  ] satisfies SandboxesOptions[])('refuse the option %j', (options) => {
    expect(() => new Sandboxes(app, options)).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION' }));
  });

  test('refuse a request that names one which is not open, with 400', async () => {
    const sandboxes = new Sandboxes(app);
    const id = await sandboxes.create();
    await sandboxes.release(id);
    const unknown = { code: 'AMBIT_TX_SANDBOX', status: 400, message: expect.stringMatching(/ no open sandbox\b/) };
    for (const name of [id, '', `${id}, ${id}`])
      expect(() => sandboxes.scopeOf(naming(name))).toThrow(expect.objectContaining(unknown));
    await expect(sandboxes.release(id)).rejects.toMatchObject(unknown);
  });

  test('read the headers of Node, and those of the Fetch API', async () => {
    const sandboxes = new Sandboxes(app, { header: 'X-Test' });
    const id = await sandboxes.create();
    const scope = sandboxes.scopeOf({ headers: { 'x-test': id } });
    expect(sandboxes.scopeOf(new Request('http://localhost', { headers: { 'X-Test': id } }))).toBe(scope);
    expect(sandboxes.scopeOf(new Request('http://localhost'))).toBe(app);
  });

  test('can be required of some requests', () => {
    interface Asked extends RequestWithHeaders {
      readonly url: string;
    }
    const sandboxes = new Sandboxes<Asked>(app, { required: ({ url }) => url.startsWith('/api/') });
    expect(sandboxes.scopeOf({ url: '/health', headers: {} })).toBe(app);
    expect(() => sandboxes.scopeOf({ url: '/api/users', headers: {} })).toThrow(
      expect.objectContaining({ code: 'AMBIT_TX_SANDBOX', status: 400 }),
    );
  });

  test('have instances of their own of what the application keeps in memory', async () => {
    app.addRegistration(
      Registration.fromFactory(() => new Set<string>())
        .pipe(singleton())
        .to('ICache'),
    );
    const register: SandboxesOptions['register'] = (scope) => {
      const cache = new Set<string>();
      scope.register('ICache', () => cache);
    };
    const sandboxes = new Sandboxes(app, { register });
    const id = await sandboxes.create();
    const cacheOf = (): Set<string> =>
      sandboxes
        .scopeOf(naming(id))
        .createScope({ tags: ['request'] })
        .resolve<Set<string>>('ICache');
    cacheOf().add('in the sandbox');
    expect([...cacheOf()]).toEqual(['in the sandbox']);
    expect(app.resolve<Set<string>>('ICache').size).toBe(0);
  });

  test('leave nothing open where `register` fails', async () => {
    const failing = new Sandboxes(app, { register: () => Promise.reject(new Error('no cache')) });
    await expect(failing.create()).rejects.toThrow('no cache');
    expect(failing.size).toBe(0);
    await insertIn(app, 1);
    expect(await idsIn(app)).toEqual([1]);
  });

  test('dispose what is still open in them, and undo it', async () => {
    const sandboxes = new Sandboxes(app);
    const id = await sandboxes.create();
    const request = sandboxes.scopeOf(naming(id)).createScope({ tags: ['request'] });
    await insertIn(request, 1);
    await sandboxes.release(id);
    expect(() => request.resolve('IDatabasePool')).toThrow(expect.objectContaining({ code: 'AMBIT_DISPOSED' }));
    expect(await idsIn(app)).toEqual([]);
  });

  test('are rolled back when they were idle for too long, so that a test that crashed leaves nothing', async () => {
    const clock = new SimulatedClock();
    const sandboxes = new Sandboxes(app, { idleTimeoutMs: 1000, clock });
    const id = await sandboxes.create();
    await insertIn(sandboxes.scopeOf(naming(id)), 1);
    clock.setTimer(() => sandboxes.scopeOf(naming(id)), 900);
    let sizeLater = 0;
    clock.setTimer(() => (sizeLater = sandboxes.size), 1800);
    await clock.run();
    expect([sizeLater, clock.now(), sandboxes.size]).toEqual([1, 1900, 0]);
    expect(await idsIn(app)).toEqual([]);
  });

  test('are not rolled back while a request in them holds the connection', async () => {
    const clock = new SimulatedClock();
    const sandboxes = new Sandboxes(app, { idleTimeoutMs: 1000, clock });
    const box = sandboxes.scopeOf(naming(await sandboxes.create())).resolve<IDatabasePool>('IDatabasePool');
    const connection = await box.getConnection();
    clock.setTimer(() => connection.release(), 2500);
    await clock.run();
    expect(clock.now()).toBe(3000);
  });

  test('report what failed to dispose in an idle one', async () => {
    const clock = new SimulatedClock();
    const reported: TransactionError[] = [];
    const register: SandboxesOptions['register'] = (scope) =>
      scope.defer?.(() => {
        throw new Error('cannot be disposed');
      });
    const sandboxes = new Sandboxes(app, { register, clock, onError: (error) => void reported.push(error) });
    await sandboxes.create();
    await clock.run();
    await expect.poll(() => reported).toMatchObject([{ code: 'AMBIT_TX_SCOPE_FAILED' }]);
    expect(await idsIn(app)).toEqual([]);
  });
});
