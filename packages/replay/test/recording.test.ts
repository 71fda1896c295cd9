import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Container } from '@ambit/container';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { record, type Recorder, type Recording, type RecordOptions } from '../src/index.js';
import { replay } from '../src/testing.js';

type Handler = (request: Request) => Promise<Response>;

const pool = createSqlitePool({ path: ':memory:' });
await pool.query('CREATE TABLE orders (id TEXT, note TEXT)');
await pool.query("INSERT INTO orders VALUES ('7', 'seven'), ('8', 'eight')");

let recorder: Recorder | undefined;
afterEach(() => recorder?.stop());

const noteOf = async (id: string | null): Promise<unknown> =>
  (await pool.query('SELECT note FROM orders WHERE id = $1', [id]))[0]?.['note'];
const idOf = ({ url }: Request): string | null => new URL(url).searchParams.get('id');

async function recorded(handler: Handler, options: Omit<RecordOptions, 'keep' | 'folder'> = {}): Promise<Recording> {
  const kept: Recording[] = [];
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

  it('is one of few, however many requests fail, in a folder for its owner', async () => {
    const folder = join(await mkdtemp(join(tmpdir(), 'replay-')), 'recordings');
    recorder = record(new Container({ tags: ['application'] }), { folder, maxFiles: 5 });
    const failing = recorder.fetch(async () => new Response(await noteOf('7').then(String), { status: 500 }));
    await Promise.all(Array.from({ length: 300 }, () => failing(new Request('http://localhost/orders'))));
    await expect.poll(() => (recorder?.kept ?? 0) + (recorder?.dropped ?? 0)).toBe(300);
    expect([(await readdir(folder)).length, recorder.kept, (await stat(folder)).mode & 0o777]).toEqual([5, 5, 0o700]);
    await rm(folder, { recursive: true });
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
