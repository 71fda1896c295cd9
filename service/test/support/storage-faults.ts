import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { request } from './http.js';
import { OrderLoad } from './order-load.js';
import type { SqliteStorage } from './sqlite-storage.js';

/** A row of the contract. */
export interface Fault {
  readonly what: string;
  /** It cannot be caused on this machine. */
  readonly missing?: boolean;
  /** Breaks the storage while orders are placed. */
  readonly cause: (storage: SqliteStorage) => void | Promise<void>;
  /** Why the service is not ready. */
  readonly notReady: string;
  /** In the line of the log that says so. */
  readonly says: RegExp;
  /** What the operator does while the service runs; without `restarts` it is then ready by itself. */
  readonly repair?: (storage: SqliteStorage) => void | Promise<void>;
  /** The service is killed and started again. */
  readonly restarts?: true;
  /** What the operator does in between. */
  readonly restore?: (storage: SqliteStorage) => void | Promise<void>;
  /** The fault takes with it what was acknowledged before. */
  readonly destroys?: boolean;
}

/** Leaves no byte of the disk. */
export function fill(folder: string): void {
  const write = (): void => {
    for (;;) writeFileSync(join(folder, 'filler'), Buffer.alloc(4096), { flag: 'a' });
  };
  expect(write).toThrow(expect.objectContaining({ code: 'ENOSPC' }));
}

export const DISK_FULL = {
  what: 'the disk is full',
  notReady: 'the disk of the database is full',
  says: /Make space on the disk/,
} as const;

/** So long after a fault the embedded database may still acknowledge. */
const WINDOW_MS = 1000;
/** No text of SQLite, PostgreSQL, Node or the file system. */
const INTERNALS = /sqlite|postgres|ambit\.db|\/|select|insert|errno|E[A-Z]{4,}|[0-9A-Z]{2}[0-9P][0-9]{2}/;

const READY = { status: 'ready' };

/** Places orders on a service whose storage has the fault, and holds it to what it promises. */
export async function keepPromises(storage: SqliteStorage, fault: Fault): Promise<void> {
  await using first = storage.start();
  const url = await first.url();
  await using load = new OrderLoad(url);
  await load.acknowledges(20);
  await fault.cause(storage);
  const brokenAt = performance.now();

  await expectReadiness(url, { error: `Not ready: ${fault.notReady}` });
  const since = load.placed.length;
  await pause(200);
  expect(load.placed.length).toBeGreaterThan(since);
  expect((await request(url, { path: '/health/live' })).status).toBe(200);
  const logged = JSON.stringify(await first.says(`not ready: ${fault.notReady}`));
  expect(logged).toMatch(fault.says);
  await fault.repair?.(storage);

  if (fault.restarts) {
    await load.end();
    first.kill();
    await first.exit;
    await fault.restore?.(storage);
    await using second = storage.start();
    await expectReadiness(await second.url(), READY);
    await expectKept(storage, load, brokenAt, fault);
  } else {
    await expectReadiness(url, READY);
    await load.acknowledges(5);
    await load.end();
    await expectKept(storage, load, 0, fault);
  }
}

async function expectReadiness(url: string, wanted: object): Promise<void> {
  for (const deadline = performance.now() + 20_000; ;) {
    const { body } = await request(url, { path: '/health/ready' });
    if (isDeepStrictEqual(body, wanted)) return;
    if (performance.now() > deadline) expect(body).toEqual(wanted);
    await pause(20);
  }
}

async function expectKept(
  storage: SqliteStorage,
  load: OrderLoad,
  brokenAt: number,
  { destroys = false }: Fault,
): Promise<void> {
  const refused = load.placed.filter(({ status }) => status !== 201);
  expect(refused).not.toEqual([]);
  for (const { status, body } of refused) {
    expect([500, 503]).toContain(status);
    expect(body).toEqual({ error: expect.not.stringMatching(INTERNALS) as string });
  }
  // What a fault destroys nobody can keep; what is acknowledged later must be there.
  const promised = load.acknowledged.filter(({ startedAt }) => !destroys || startedAt > brokenAt + WINDOW_MS);
  const stored = await storage.products();
  expect(promised.filter(({ product }) => !stored.has(product))).toEqual([]);
}
