import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Container } from '@ambit/container';
import type { DatabasePool } from '@ambit/transaction';
import { poolOver, POSTGRES_LANGUAGE } from '@ambit/transaction/extension';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { record, type Recorder, type Recording, type RecordOptions } from '../src/index.js';
import { replay } from '../src/testing.js';

type Handler = (request: Request) => Promise<Response>;

let pool = await opened();

async function opened(path = ':memory:'): Promise<DatabasePool> {
  const made = createSqlitePool({ path });
  await made.query('CREATE TABLE IF NOT EXISTS orders (id TEXT, note TEXT)');
  await made.query("INSERT INTO orders VALUES ('7', 'seven'), ('8', 'eight')");
  return made;
}

let recorder: Recorder | undefined;
afterEach(() => recorder?.stop());

const noteOf = async (id: string | null): Promise<unknown> =>
  (await pool.query('SELECT note FROM orders WHERE id = $1', [id]))[0]?.['note'];
const idOf = ({ url }: Request): string | null => new URL(url).searchParams.get('id');

async function recorded(handler: Handler, options: Omit<RecordOptions, 'keep' | 'folder'> = {}): Promise<Recording> {
  const kept: Recording[] = [];
  // The last replay has taken the database away from the pool before.
  pool = await opened();
  recorder = record(new Container({ tags: ['application'] }), {
    keep: (one) => kept.push(one),
    when: () => true,
    responses: true,
    ...options,
  });
  await recorder.fetch(handler)(new Request('http://localhost/orders?id=7'));
  await expect.poll(() => kept.length).toBe(1);
  recorder.stop();
  return JSON.parse(JSON.stringify(kept[0])) as Recording;
}

describe('a handler that was changed', () => {
  const original: Handler = async (request) =>
    Response.json({ note: await noteOf(idOf(request)), key: crypto.randomUUID(), at: new Date() });

  it('learns of the first statement that the recording does not have, and the line that asked for it', async () => {
    const recording = await recorded(original);
    const other: Handler = async () => Response.json({ note: await noteOf('8') });
    expect((await replay({ fetch: other }, recording)).divergence).toMatch(
      /^step 1: wanted SELECT note FROM orders WHERE id = \$1 with \$1 = '8', the recording has '7'; asked at packages\/replay\/test\/recording\.test\.ts:\d+$/,
    );
    const more: Handler = async (request) => {
      await original(request);
      return Response.json(await pool.query('SELECT count(*) AS orders FROM orders'));
    };
    expect((await replay({ fetch: more }, recording)).divergence).toContain('and the recording has nothing more');
    const given = await replay({ fetch: more }, recording, { beyond: () => [{ orders: 2 }] });
    expect([given.divergence, given.body, given.beyond.length]).toEqual([undefined, [{ orders: 2 }], 1]);
    expect((await replay({ fetch: more }, recording, { beyond: () => [[2]] })).divergence).toContain(
      'beyond() has to give objects for SELECT count(*)',
    );
    const likeDrizzle: Handler = async () => {
      const { rows } = await pool.execute('SELECT id FROM orders', [], { rowMode: 'array' });
      return Response.json(rows);
    };
    expect((await replay({ fetch: likeDrizzle }, recording, { beyond: () => [{ id: 7 }] })).divergence).toMatch(
      /^beyond\(\) has to give arrays, with the cells in the order of the columns, for SELECT id FROM orders; asked at/,
    );
    expect((await replay({ fetch: likeDrizzle }, recording, { beyond: () => [[7]] })).body).toEqual([[7]]);
  });

  it('is never given the row of another id that it makes, and ids and times that it makes are the same', async () => {
    const made: Handler = async () => {
      const id = crypto.randomUUID();
      await pool.query('INSERT INTO orders VALUES ($1, $2)', [id, new Date()]);
      return Response.json({ id, note: await noteOf(id) });
    };
    const recording = await recorded(made);
    // Without the recorded random values the ids are others.
    const others = { ...recording, steps: recording.steps.filter(({ kind }) => kind !== 'random') };
    expect(await replay({ fetch: made }, others)).toMatchObject({ divergence: undefined, difference: undefined });
    const mixed: Handler = async () => {
      await pool.query('INSERT INTO orders VALUES ($1, $2)', [crypto.randomUUID(), new Date()]);
      return Response.json({ note: await noteOf(crypto.randomUUID()) });
    };
    expect((await replay({ fetch: mixed }, others)).divergence).toContain('step 2: wanted SELECT note');
  });

  it('may spell a statement in another way, as a query builder does, but not ask for something else', async () => {
    const recording = await recorded(original);
    const spelled =
      (text: string, params = ['7']): Handler =>
      async () => {
        const [row] = await pool.query(text, params);
        return Response.json({ note: row?.['note'], key: crypto.randomUUID(), at: new Date() });
      };
    const built = spelled('select "note"\n  from "orders" where "id" = $1;');
    expect(await replay({ fetch: built }, recording)).toMatchObject({ divergence: undefined, difference: undefined });
    for (const text of [
      'SELECT note FROM orders WHERE id = $1 LIMIT 1',
      'SELECT Note FROM orders WHERE id = $1',
      'SELECT note FROM orders WHERE "Id" = $1',
      "SELECT note FROM orders WHERE id = $1 AND note <> ' '",
    ])
      expect((await replay({ fetch: spelled(text) }, recording)).divergence).toContain('step 1: wanted SELECT');
    const texts = await recorded(spelled(`SELECT ' a  A ' AS "user"`, []));
    for (const text of [`SELECT ' a A ' AS "user"`, `SELECT ' a  A ' AS user`, `SELECT ' a  a ' AS "user"`])
      expect((await replay({ fetch: spelled(text, []) }, texts)).divergence).toContain('step 1: wanted SELECT');
    expect((await replay({ fetch: spelled(`select ' a  A ' as "user"`, []) }, texts)).divergence).toBeUndefined();
  });

  it('is compared by its response', async () => {
    const recording = await recorded(original);
    const shouting: Handler = async (request) =>
      Response.json({ ...((await (await original(request)).json()) as object), note: 'SEVEN' });
    expect((await replay({ fetch: original }, recording)).difference).toBeUndefined();
    expect((await replay({ fetch: shouting }, recording)).difference).toBe(
      'body.note is "SEVEN", the recording has "seven"',
    );
  });
});

describe('a replay', () => {
  const handler: Handler = async (request) => Response.json({ note: await noteOf(idOf(request)) }, { status: 500 });

  it('leaves the database alone for good, and closes the application that was made for it', async () => {
    const recording = await recorded(handler);
    const path = join(await mkdtemp(join(tmpdir(), 'replay-')), 'orders.db');
    const witness = await opened(path);
    const events: unknown[] = [];
    let late = witness;
    const tick = (): Promise<unknown> => late.query("DELETE FROM orders WHERE id = '8'");
    const app = {
      fetch: handler,
      close: async () => {
        events.push(await tick());
      },
    };
    using before = record(new Container({ tags: ['application'] }), { keep: () => undefined });
    const make = async () => {
      late = createSqlitePool({ path });
      events.push(await late.query('SELECT * FROM orders'));
      return app;
    };
    expect((await replay(make, recording)).divergence).toBeUndefined();
    before.stop();
    expect(events).toEqual([[], []]);
    const refusal = { code: 'AMBIT_TX_POOL_CLOSED', message: expect.stringContaining('replay() has used') as string };
    await expect(tick()).rejects.toMatchObject(refusal);
    await expect(noteOf('7')).rejects.toMatchObject(refusal);
    expect(await witness.query('SELECT id FROM orders')).toHaveLength(2);
    await expect(replay(make, recording)).rejects.toThrow('was closed after a replay');
    await witness.close();
  });

  it('is never recorded, even where the application records itself', async () => {
    const recording = await recorded(handler);
    const again: Recording[] = [];
    using own = record(new Container({ tags: ['application'] }), { keep: (one) => again.push(one) });
    const server = createServer((_, response) => void noteOf('7').then(() => response.writeHead(500).end()));
    expect((await replay({ fetch: own.fetch(handler) }, recording)).status).toBe(500);
    const { request } = recording;
    const overNode = { ...recording, request: { ...request, headers: [['host', 'localhost']] as const } };
    expect((await replay(server, overNode)).status).toBe(500);
    await own.fetch(async () => new Response(null, { status: 500 }))(new Request('http://localhost/orders'));
    await expect.poll(() => again.length).toBe(1);
    expect([own.dropped, again[0]?.steps]).toEqual([0, []]);
  });
});

describe('a recording', () => {
  it('has no more than maxBytes, says what it lacks, and a replay that needs it says so', async () => {
    const large: Handler = async () => {
      await pool.query("SELECT printf('%.*c', 100000, 'x') AS text");
      return Response.json({ note: await noteOf('7') });
    };
    const recording = await recorded(large, { maxBytes: 10_000 });
    expect(JSON.stringify(recording).length).toBeLessThan(10_000);
    expect(recording.leftOut).toEqual(['the data of step 1 and of others as large']);
    expect((await replay({ fetch: large }, recording)).divergence).toContain(
      'step 1: its rows are not in the recording',
    );
  });

  it('has the first of many steps, and no more memory for them than for others', async () => {
    const long: Handler = async () => {
      const numbers = Array.from({ length: 1000 }, () => Math.random());
      for (let i = 0; i < 500; i += 1) await noteOf(String(i));
      return Response.json({ sum: numbers.reduce((sum, one) => sum + one, 0), note: await noteOf('7') });
    };
    const recording = await recorded(long);
    const statements = recording.steps.filter(({ kind }) => kind === 'statement').length;
    expect([statements > 100, statements < 64_000 / 250]).toEqual([true, true]);
    expect(recording.leftOut).toContain(`what came after step ${statements}`);
    expect((await replay({ fetch: long }, recording)).divergence).toContain(
      `the recording has nothing more; it lacks what came after step ${statements}`,
    );
    const random = await recorded(async () => {
      for (let i = 0; i < 5000; i += 1) Math.random();
      return new Response();
    });
    expect(JSON.stringify(random).length).toBeLessThan(65_536 + 1000);
    const short = await recorded(long, { maxBytes: 2 ** 20 });
    expect(await replay({ fetch: long }, short)).toMatchObject({ divergence: undefined, difference: undefined });
  });

  it('says that the database refused a connection', async () => {
    const connect = (): Promise<never> => Promise.reject(new Error('away'));
    const away = poolOver({ language: POSTGRES_LANGUAGE, max: 1, connect, close: async () => undefined }, {});
    const refused: Handler = async () => {
      const rows = await away.query('SELECT 1 AS one').catch(() => undefined);
      return new Response(null, { status: rows ? 200 : 500 });
    };
    expect((await replay({ fetch: refused }, await recorded(refused))).divergence).toContain(
      'the recording has nothing more; it lacks a connection that the database refused',
    );
  });

  it('is one of few, however many requests fail, in a folder for its owner', async () => {
    const folder = join(await mkdtemp(join(tmpdir(), 'replay-')), 'recordings');
    pool = await opened();
    recorder = record(new Container({ tags: ['application'] }), { folder, maxFiles: 5 });
    const failing = recorder.fetch(async () => new Response(await noteOf('7').then(String), { status: 500 }));
    await Promise.all(Array.from({ length: 300 }, () => failing(new Request('http://localhost/orders'))));
    await expect.poll(() => (recorder?.kept ?? 0) + (recorder?.dropped ?? 0)).toBe(300);
    expect([(await readdir(folder)).length, recorder.kept, (await stat(folder)).mode & 0o777]).toEqual([5, 5, 0o700]);
    await rm(folder, { recursive: true });
  });

  it('is published when it is kept, with its request and its test', async () => {
    const published: { request: Request; test: { path: string; text: string } }[] = [];
    const note = (message: unknown): unknown => published.push(message as never);
    subscribe('ambit:request:recorded', note);
    const recording = await recorded(async () => Response.json({ note: await noteOf('7') }));
    await expect.poll(() => published.length).toBe(1);
    unsubscribe('ambit:request:recorded', note);
    const [{ request, test } = expect.fail()] = published;
    expect([request.url, test.path]).toEqual(['http://localhost/orders?id=7', `test/replays/${recording.id}.test.ts`]);
    expect(test.text).toContain(`replay(app, 'test/replays/${recording.id}.json')`);
  });

  it('that cannot be made fails no request', async () => {
    const fail = (): never => {
      throw new Error('of the application');
    };
    recorder = record(new Container({ tags: ['application'] }), { keep: () => undefined, when: fail });
    expect((await recorder.fetch(async () => new Response())(new Request('http://localhost/'))).status).toBe(200);
    expect([recorder.kept, recorder.dropped]).toEqual([0, 1]);
  });

  it('is made until the container is disposed, and then nothing of it stays', async () => {
    const before = [Math.random, fetch, crypto.randomUUID];
    const container = new Container({ tags: ['application'] });
    record(container, { keep: () => undefined });
    expect([Math.random, fetch, crypto.randomUUID]).not.toEqual(before);
    await container.dispose();
    expect([Math.random, fetch, crypto.randomUUID]).toEqual(before);
    expect(() => record(container, {})).toThrow('either a folder or a function keep()');
  });
});
