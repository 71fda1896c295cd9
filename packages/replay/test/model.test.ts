import { Container, type IContainer } from '@ambit/container';
import { createHandler, errorResponse } from '@ambit/fetch';
import { Chance, firstSeed, replayedSeed, runsOr } from '@ambit/test-kit';
import { type ExecuteResult, type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { poolOver, POSTGRES_LANGUAGE, type Wire } from '@ambit/transaction/extension';
import { afterAll, expect, it } from 'vitest';
import { record, type Recording } from '../src/index.js';
import { replay } from '../src/testing.js';

/** A step of a program, which is drawn from a seed. */
type Op =
  | { readonly do: 'read' | 'write' | 'touch'; readonly key: string }
  | { readonly do: 'wait' | 'fail' }
  | { readonly do: 'all' | 'in order' | 'transaction' | 'nested'; readonly ops: readonly Op[] };

const KEYS = ['a', 'b', 'c'];
const turn = (): Promise<void> => new Promise(setImmediate);

function drawn(chance: Chance, depth: number, isOpen = false): Op {
  const kind = chance.below(depth > 0 ? 10 : 5);
  const ops = (open: boolean): Op[] =>
    Array.from({ length: 1 + chance.below(3) }, () => drawn(chance, depth - 1, open));
  if (kind === 4) return { do: chance.of(0.1) ? 'fail' : 'wait' };
  if (kind < 4) return { do: chance.pick(['read', 'write', 'touch'] as const), key: chance.pick(KEYS) };
  if (kind < 6) return { do: 'all', ops: ops(isOpen) };
  if (kind < 8) return { do: 'in order', ops: ops(isOpen) };
  return { do: isOpen ? 'nested' : 'transaction', ops: ops(true) };
}

/** No two reads give the same, so that a wrong row shows; each says which writes came before it. */
class Model {
  readonly writes = new Map<string, string[]>();
  sent = 0;
  #reads = 0;
  readonly #chance: Chance;
  readonly #faults: number;

  constructor(chance: Chance, faults: number) {
    this.#chance = chance;
    this.#faults = faults;
  }

  readonly pool = poolOver(
    { language: POSTGRES_LANGUAGE, max: 4, connect: () => this.#wire(), close: async () => undefined },
    {},
  );

  #wire(): Wire {
    const open: { key: string; id: string }[] = [];
    const savepoints: number[] = [];
    let isOpen = false;
    const wire = {
      isLost: false,
      outsideTransaction: true,
      release: () => undefined,
      // As from a socket: never in the turn in which it was sent.
      send: async (sql: string, params: readonly unknown[] = []): Promise<ExecuteResult<never>> => {
        this.sent += 1;
        for (let turns = 1 + this.#chance.below(3); turns > 0; turns -= 1) await turn();
        const [command = ''] = /^\w+/.exec(sql) ?? [];
        const result = { rows: [] as object[], rowCount: null as number | null, command, fields: [] };
        if (command === 'BEGIN') isOpen = true;
        if (command === 'SAVEPOINT') savepoints.push(open.length);
        if (sql.startsWith('ROLLBACK TO')) open.splice(savepoints.at(-1) ?? 0);
        if (command === 'RELEASE') savepoints.pop();
        if (sql === 'COMMIT') for (const { key, id } of open.splice(0)) this.#add(key, id);
        if (sql === 'COMMIT' || sql === 'ROLLBACK') {
          isOpen = false;
          open.splice(0);
        }
        wire.outsideTransaction = !isOpen;
        if (!['SELECT', 'INSERT', 'UPDATE'].includes(command)) return result as never;
        if (this.#chance.of(this.#faults))
          throw Object.assign(new Error('refused'), { code: this.#chance.pick(['40001', '23505']) });
        const key = String(params[0]);
        if (command === 'INSERT') {
          if (isOpen) open.push({ key, id: String(params[1]) });
          else this.#add(key, String(params[1]));
        }
        const own = open.filter((one) => one.key === key).map(({ id }) => id);
        const seen = [...(this.writes.get(key) ?? []), ...own];
        if (command !== 'INSERT') result.rows = [{ n: (this.#reads += 1), seen: seen.join() }];
        result.rowCount = 1;
        return result as never;
      },
    };
    return wire;
  }

  #add(key: string, id: string): void {
    this.writes.set(key, [...(this.writes.get(key) ?? []), id]);
  }
}

/** The rows that the program has read, and the ids that it has written. */
interface Trail {
  readonly reads: unknown[];
  readonly written: Map<string, string[]>;
}

async function run(op: Op, scope: IContainer, database: IDatabasePool | IConnection, trail: Trail): Promise<void> {
  switch (op.do) {
    case 'wait':
      return Promise.resolve();
    case 'fail':
      throw new Error('The program fails');
    case 'write': {
      const id = crypto.randomUUID();
      await database.query('INSERT INTO items (key, id, at) VALUES ($1, $2, $3)', [op.key, id, new Date()]);
      trail.written.set(op.key, [...(trail.written.get(op.key) ?? []), id]);
      return undefined;
    }
    case 'read':
    case 'touch': {
      const place = trail.reads.push(undefined) - 1;
      const text =
        op.do === 'read'
          ? 'SELECT n, seen FROM items WHERE key = $1'
          : 'UPDATE items SET n = n + 1 WHERE key = $1 RETURNING n, seen';
      const [row] = await database.query(text, [op.key]);
      trail.reads[place] = { ...row, wanted: trail.written.get(op.key)?.join() ?? '' };
      return undefined;
    }
    case 'all':
      await Promise.all(op.ops.map((one) => run(one, scope, database, trail)));
      return undefined;
    case 'in order':
      for (const one of op.ops) await run(one, scope, database, trail);
      return undefined;
    case 'transaction':
      return runInTransaction(
        scope,
        async (inner) => {
          for (const one of op.ops) await run(one, inner, inner.resolve<IConnection>('IConnection'), trail);
        },
        { retries: 2 },
      );
    case 'nested':
      await runInTransaction(scope, async (inner) => {
        for (const one of op.ops) await run(one, inner, inner.resolve<IConnection>('IConnection'), trail);
      }).catch(() => trail.reads.push('undone'));
      return undefined;
  }
}

const recordings: Recording[] = [];
const recorder = record(new Container({ tags: ['application'] }), {
  keep: (recording) => recordings.push(JSON.parse(JSON.stringify(recording)) as Recording),
  when: () => true,
  responses: true,
  maxBytes: 2 ** 20,
});
afterAll(() => recorder.stop());

function handlerOf(op: Op, model: Model) {
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => model.pool);
  const handler = createHandler(
    container,
    async (_, scope) => {
      const trail: Trail = { reads: [], written: new Map() };
      const failed = await run(op, scope, model.pool, trail).then(
        () => undefined,
        (error: unknown) => error,
      );
      return Response.json(
        { reads: trail.reads, failed: failed instanceof Error && failed.message },
        { status: failed ? 500 : 200 },
      );
    },
    { onError: errorResponse },
  );
  return handler as (request: Request) => Promise<Response>;
}

async function recorded(op: Op, model: Model): Promise<Recording> {
  const before = recordings.length;
  await recorder.fetch(handlerOf(op, model))(new Request('http://localhost/program'));
  await expect.poll(() => recordings.length, { interval: 1 }).toBe(before + 1);
  return recordings.at(-1) as Recording;
}

const seeds =
  replayedSeed === undefined ? Array.from({ length: runsOr(100) }, (_, i) => firstSeed + i) : [replayedSeed];

it('what a random handler reads, writes and responds is the same again, and reaches no database', async () => {
  let diverged = 0;
  for (const seed of seeds) {
    const chance = new Chance(seed);
    const op: Op = { do: 'in order', ops: Array.from({ length: 1 + chance.below(4) }, () => drawn(chance, 3)) };
    const model = new Model(chance.fork(), chance.pick([0, 0.1]));
    const recording = await recorded(op, model);
    // A handler may respond before all that it has begun is done.
    for (let turns = 0; turns < 50; turns += 1) await turn();
    const { sent } = model;
    const { divergence, difference, steps } = await replay({ fetch: handlerOf(op, model) }, recording);
    expect({ seed, sent: model.sent }).toEqual({ seed, sent });
    // The pause before a retry is a timer, whose race with a statement on another connection may end otherwise: that is named.
    if (divergence !== undefined) diverged += 1;
    else
      expect({ seed, difference, steps: steps.replayed }).toEqual({
        seed,
        difference: undefined,
        steps: steps.recorded,
      });
  }
  expect(diverged / seeds.length).toBeLessThan(0.03);
});

/** Without faults and side by side, so that what each read has to see is known. */
function inOrder(chance: Chance): Op[] {
  const simple = (): Op => ({ do: chance.pick(['read', 'write', 'touch'] as const), key: chance.pick(KEYS) });
  return Array.from({ length: 2 + chance.below(5) }, () =>
    chance.of(0.3) ? { do: 'transaction', ops: [simple(), simple()] } : simple(),
  );
}

function changed(ops: readonly Op[], chance: Chance): Op[] {
  const at = chance.below(ops.length);
  const others = ops.toSpliced(at, 1);
  const moved = others.toSpliced(chance.below(ops.length), 0, ops[at] as Op);
  return chance.pick([others, moved, ops.toSpliced(at, 0, ...inOrder(chance).slice(0, 1))]);
}

it('a handler that was changed reads what it would have read, or the difference is named', async () => {
  let same = 0;
  for (const seed of seeds) {
    const chance = new Chance(seed);
    const ops = inOrder(chance);
    const model = new Model(chance.fork(), 0);
    const recording = await recorded({ do: 'in order', ops }, model);
    const other: Op = { do: 'in order', ops: changed(ops, chance) };
    const { divergence, body } = await replay({ fetch: handlerOf(other, model) }, recording);
    if (divergence !== undefined) continue;
    same += 1;
    const { reads } = body as { reads: { seen: string; wanted: string }[] };
    expect({ seed, seen: reads.map(({ seen }) => seen) }).toEqual({ seed, seen: reads.map(({ wanted }) => wanted) });
  }
  expect([same > seeds.length / 20, same < seeds.length]).toEqual([true, true]);
});
