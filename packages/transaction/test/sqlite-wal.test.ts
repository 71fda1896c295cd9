import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, asyncProperty, integer } from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSqlitePool } from '../src/sqlite/index.js';

const FRAME = 24 + 4096;
const RUNS = 60;

/** What a crash leaves: the file and its `-wal`, byte for byte. */
describe('a -wal that was cut or damaged', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-wal-'));
  const path = join(folder, 'test.db');
  /** Where the log ended when each transaction was acknowledged. */
  const ends: number[] = [];
  let wal: Buffer;
  let images = 0;

  beforeAll(async () => {
    const pool = createSqlitePool({ path });
    await pool.query('CREATE TABLE orders (id INTEGER PRIMARY KEY, text TEXT NOT NULL)');
    for (let id = 0; id < 80; id += 1) {
      await pool.query('INSERT INTO orders VALUES ($1, $2)', [id, 'x'.repeat((id * 701 + 7000) % 9000)]);
      ends.push(statSync(`${path}-wal`).size);
    }
    wal = readFileSync(`${path}-wal`);
    copyFileSync(path, join(folder, 'image.db'));
    await pool.close();
    copyFileSync(path, join(folder, 'whole.db'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The ids of the orders that a pool on this image has. */
  const opened = async (log: Buffer, image = join(folder, 'image.db')): Promise<number[]> => {
    // The driver keeps the files of a pool open for a while after it was closed.
    const name = join(folder, `opened-${(images += 1)}.db`);
    copyFileSync(image, name);
    writeFileSync(`${name}-wal`, log);
    const pool = createSqlitePool({ path: name });
    try {
      expect(await pool.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      return (await pool.query<{ id: number }>('SELECT id FROM orders ORDER BY id')).map(({ id }) => id);
    } finally {
      await pool.close();
    }
  };
  const wholeBefore = (byte: number): number[] => [...ends.keys()].filter((id) => (ends[id] ?? 0) <= byte);

  test('cut anywhere, gives every transaction that is whole and no other', async () => {
    const cuts = integer({ min: ends[0] ?? 0, max: wal.length });
    const property = asyncProperty(cuts, async (cut) => {
      expect(await opened(wal.subarray(0, cut))).toEqual(wholeBefore(cut));
    });
    await assert(property, { numRuns: RUNS, seed: 1 });
  });

  test('damaged anywhere, gives all transactions but the last one at most, or is refused with what to do', async () => {
    let refusals = 0;
    const damages = [integer({ min: 0, max: wal.length - 1 }), integer({ min: 1, max: 255 })] as const;
    const property = asyncProperty(...damages, async (at, bits) => {
      const log = Buffer.from(wal);
      log[at] = (log[at] ?? 0) ^ bits;
      const frame = at < 32 ? 0 : at - ((at - 32) % FRAME);
      const ids = await opened(log).catch((error: unknown) => {
        const message = expect.stringContaining(`damaged at byte ${frame}, and the transactions after it`) as string;
        expect(error).toMatchObject({ code: 'AMBIT_TX_FILE', sqlState: 'XX001', cause: { message } });
        refusals += 1;
      });
      if (!ids) return;
      expect(ids).toEqual(wholeBefore(frame));
      expect(ids.length).toBeGreaterThanOrEqual(ends.length - 1);
    });
    await assert(property, { numRuns: RUNS, seed: 1 });
    expect(refusals).toBeGreaterThan(RUNS / 2);
  });

  test('damaged in its last transaction only, gives all others, as after a crash', async () => {
    const log = Buffer.from(wal);
    const start = ends[ends.length - 2] ?? 0;
    log[start + 100] = (log[start + 100] ?? 0) ^ 1;
    expect(wal.length - start).toBeGreaterThan(FRAME);
    expect(await opened(log)).toEqual(wholeBefore(start));
  });

  test('and truncated as the message says, gives what is whole', async () => {
    const log = Buffer.from(wal);
    log[32 + 20 * FRAME + 100] = 1;
    const refusal = await opened(log).catch((error: unknown) => error);
    const [, bytes] = /truncate -s (\d+) /.exec(String((refusal as Error).cause)) ?? [];
    expect(await opened(wal.subarray(0, Number(bytes)))).toEqual(wholeBefore(Number(bytes)));
  });

  test('that has frames of an earlier round of the log behind those of the last is in order', async () => {
    const name = join(folder, 'again.db');
    copyFileSync(join(folder, 'whole.db'), name);
    const pool = createSqlitePool({ path: name });
    const add = (id: number): Promise<unknown> => pool.query('INSERT INTO orders VALUES ($1, $2)', [id, 'again']);
    for (let id = 100; id < 140; id += 1) await add(id);
    await pool.query('PRAGMA wal_checkpoint(RESTART)');
    await add(140);
    const image = join(folder, 'again-image.db');
    copyFileSync(name, image);
    const log = readFileSync(`${name}-wal`);
    await pool.close();
    expect(await opened(log, image)).toContain(140);
  });

  test('that has several transactions over which others were written, as when programs are killed in COMMIT, is in order', async () => {
    const name = join(folder, 'killed.db');
    copyFileSync(join(folder, 'whole.db'), name);
    const pool = createSqlitePool({ path: name });
    const add = (id: number, length: number): Promise<unknown> =>
      pool.query('INSERT INTO orders VALUES ($1, $2)', [id, 'x'.repeat(length)]);
    await add(200, 10);
    /** Writes the frames of a transaction to the log, and is killed before it tells the others that they are there. */
    const killedInCommit = async (length: number): Promise<void> => {
      const [log, elsewhere] = [readFileSync(`${name}-wal`), join(folder, `elsewhere-${(images += 1)}.db`)];
      copyFileSync(name, elsewhere);
      writeFileSync(`${elsewhere}-wal`, log);
      const other = createSqlitePool({ path: elsewhere });
      await other.query('INSERT INTO orders VALUES ($1, $2)', [999, 'y'.repeat(length)]);
      const longer = readFileSync(`${elsewhere}-wal`);
      await other.close();
      expect(longer.equals(log)).toBe(false);
      writeFileSync(`${name}-wal`, longer, { flag: 'r+' });
    };
    await killedInCommit(80_000);
    await add(201, 10);
    await killedInCommit(40_000);
    await add(202, 10);
    const [log, image] = [readFileSync(`${name}-wal`), join(folder, 'killed-image.db')];
    copyFileSync(name, image);
    await pool.close();
    expect((await opened(log, image)).slice(-3)).toEqual([200, 201, 202]);
  });

  test('that is damaged is refused, also by a link to its file', () => {
    const name = join(folder, 'linked.db');
    copyFileSync(join(folder, 'image.db'), name);
    const log = Buffer.from(wal);
    log[32 + 20 * FRAME + 100] = 1;
    writeFileSync(`${name}-wal`, log);
    symlinkSync(name, `${name}-link`);
    expect(() => createSqlitePool({ path: `${name}-link` })).toThrow(
      expect.objectContaining({ code: 'AMBIT_TX_FILE', sqlState: 'XX001' }),
    );
  });

  test('without its file is refused, and is left as it is', async () => {
    const name = join(folder, 'missing.db');
    writeFileSync(`${name}-wal`, wal);
    expect(() => createSqlitePool({ path: name })).toThrow(
      expect.objectContaining({
        code: 'AMBIT_TX_FILE',
        cause: expect.objectContaining({
          message: expect.stringMatching(
            /missing\.db is missing, and .*missing\.db-wal still has transactions of it/,
          ) as string,
        }) as Error,
      }),
    );
    expect(readFileSync(`${name}-wal`).equals(wal)).toBe(true);
  });
});
