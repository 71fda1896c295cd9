import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { describe, expect, test } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import { Happenings } from '@ambit/test-kit';
import { request } from './support/http.js';
import { tmpdir } from 'node:os';
import { ServiceProcess } from './support/service-process.js';
import { isDeepStrictEqual } from 'node:util';

/** A row of the contract. */
interface Fault {
  readonly what: string;
  /** It cannot be caused on this machine. */
  readonly missing?: boolean;
  /** Breaks the storage while orders are placed. */
  readonly cause: (storage: SqliteStorage) => void;
  /** Why the service is not ready. */
  readonly notReady: string;
  /** In the line of the log that says so. */
  readonly says: RegExp;
  /** The operator's repair while the service runs, which is then ready by itself. */
  readonly repair: (storage: SqliteStorage) => void;
}

/** Leaves no byte of the disk. */
function fill(folder: string): void {
  const write = (): void => {
    for (;;) writeFileSync(join(folder, 'filler'), Buffer.alloc(4096), { flag: 'a' });
  };
  expect(write).toThrow(expect.objectContaining({ code: 'ENOSPC' }));
}

/** No text of SQLite, PostgreSQL, Node or the file system. */
const INTERNALS = /sqlite|postgres|ambit\.db|\/|select|insert|errno|E[A-Z]{4,}|[0-9A-Z]{2}[0-9P][0-9]{2}/;

const READY = { status: 'ready' };

/** Places orders on a service whose storage has the fault, and holds it to what it promises. */
async function keepPromises(storage: SqliteStorage, fault: Fault): Promise<void> {
  await using first = storage.start();
  const url = await first.url();
  await using load = new OrderLoad(url);
  await load.acknowledges(20);
  fault.cause(storage);
  await expectReadiness(url, { error: `Not ready: ${fault.notReady}` });
  const since = load.placed.length;
  await expect.poll(() => load.placed.length).toBeGreaterThan(since);
  expect((await request(url, { path: '/health/live' })).status).toBe(200);
  const logged = JSON.stringify(await first.says(`not ready: ${fault.notReady}`));
  expect(logged).toMatch(fault.says);
  fault.repair(storage);

  await expectReadiness(url, READY);
  await load.acknowledges(5);
  await load.end();
  const refused = load.placed.filter(({ status }) => status !== 201);
  expect(refused).not.toEqual([]);
  for (const { status, body } of refused) {
    expect([500, 503]).toContain(status);
    expect(body).toEqual({ error: expect.not.stringMatching(INTERNALS) as string });
  }
  const stored = await storage.products();
  expect(load.acknowledged.filter(({ product }) => !stored.has(product))).toEqual([]);
}

async function expectReadiness(url: string, wanted: object): Promise<void> {
  for (const deadline = performance.now() + 120_000; ;) {
    const { body } = await request(url, { path: '/health/ready' });
    if (isDeepStrictEqual(body, wanted)) return;
    if (performance.now() > deadline) expect(body).toEqual(wanted);
    await pause(20);
  }
}

/** The service then sees a file system of 64 MB in its folder, which nobody else sees. Works without root where users may do so. */
const ON_SMALL_DISK = [
  '-rm',
  'sh',
  '-c',
  'mount -t tmpfs -o size=64m none "$DATA_DIR" && exec "$0" "$@"',
  process.execPath,
];

const canMountDisks =
  process.platform === 'linux' && spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', tmpdir()]).status === 0;

/** The folder of the embedded database. */
class SqliteStorage implements AsyncDisposable {
  readonly #own = mkdtempSync(join(tmpdir(), 'ambit-storage-'));
  readonly #onSmallDisk: boolean;
  #service: ServiceProcess | undefined;

  constructor({ onSmallDisk = false } = {}) {
    this.#onSmallDisk = onSmallDisk;
    mkdirSync(this.#data);
  }

  get service(): ServiceProcess {
    if (!this.#service) throw new Error('The service was not started');
    return this.#service;
  }

  /** The folder as this process sees it. */
  get folder(): string {
    return this.#onSmallDisk ? `/proc/${this.service.pid}/root${this.#data}` : this.#data;
  }

  get file(): string {
    return join(this.folder, 'ambit.db');
  }

  /** A place outside of the folder. */
  readonly beside = (name: string): string => join(this.#own, name);

  start(): ServiceProcess {
    const env = { DATA_DIR: this.#data, TRANSACTION_CHECK: 'throw' };
    const exec = this.#onSmallDisk ? { execPath: '/usr/bin/unshare', execArgv: ON_SMALL_DISK } : {};
    this.#service = new ServiceProcess(env, exec);
    return this.#service;
  }

  /** The products that were ordered: from a copy, because the file may be on a disk that ends with the service. */
  async products(): Promise<ReadonlySet<unknown>> {
    const copy = join(mkdtempSync(this.beside('copy-')), 'ambit.db');
    for (const suffix of ['', '-wal'])
      if (existsSync(this.file + suffix)) copyFileSync(this.file + suffix, copy + suffix);
    await using pool = createSqlitePool({ path: copy });
    return new Set((await pool.query('SELECT product_id AS product FROM order_items')).map(({ product }) => product));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#own, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#own, 'data');
  }
}

const CLIENTS = 4;

/** One order, of a product that no other order has. */
interface Placed {
  readonly product: string;
  readonly status: number;
  readonly body: unknown;
}

/** Clients that place one order after the other, whatever the responses are, until it ends. */
class OrderLoad implements AsyncDisposable {
  readonly placed: Placed[] = [];
  readonly #happenings = new Happenings();
  readonly #clients: Promise<unknown>;
  #isOver = false;

  constructor(url: string) {
    this.#clients = Promise.all(Array.from({ length: CLIENTS }, (_, client) => this.#order(url, client)));
    // `end()` reports that the service has exited.
    this.#clients.catch(() => undefined);
  }

  get acknowledged(): readonly Placed[] {
    return this.placed.filter(({ status }) => status === 201);
  }

  /** Resolves when so many more orders were acknowledged. */
  async acknowledges(orders: number): Promise<void> {
    const wanted = this.acknowledged.length + orders;
    await this.#happenings.until(() => this.acknowledged.length >= wanted, `${wanted} orders are acknowledged`, 50_000);
  }

  /** Resolves when every client has its last response. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#clients;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch(() => undefined);
  }

  async #order(url: string, client: number): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const product = `product-${client}-${n}`;
      const order = { items: [{ productId: product, quantity: 1 }] };
      const { status, body } = await request(url, { method: 'POST', path: '/api/orders', body: order });
      this.placed.push({ product, status, body });
      this.#happenings.tell();
      // Refused orders would fill the log, and the machine, with nothing else.
      if (status !== 201) await pause(5);
    }
  }
}

const STORAGE = 'the storage of the database fails';

const limitFiles = ({ service }: SqliteStorage, bytes: string): void =>
  void execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:unlimited`]);

const FAULTS: readonly Fault[] = [
  {
    what: 'the folder is moved away, and back',
    cause: ({ folder, beside }) => renameSync(folder, beside('elsewhere')),
    notReady: STORAGE,
    says: /ambit\.db was deleted or moved while it was in use/,
    repair: ({ folder, beside }) => renameSync(beside('elsewhere'), folder),
  },
  {
    what: 'the disk refuses every write',
    missing: !existsSync('/usr/bin/prlimit'),
    cause: (storage) => limitFiles(storage, '0'),
    notReady: STORAGE,
    says: /disk I\/O error.*"fix":"|"fix":".*disk I\/O error/,
    repair: (storage) => limitFiles(storage, 'unlimited'),
  },
];

const FULL: Fault = {
  what: 'the disk is full',
  notReady: 'the disk of the database is full',
  says: /Make space on the disk/,
  missing: !canMountDisks,
  cause: ({ folder }) => fill(folder),
  repair: ({ folder }) => rmSync(join(folder, 'filler')),
};

describe('on SQLite, the service', () => {
  for (const fault of [...FAULTS, FULL])
    test.skipIf(fault.missing)(`keeps its promises where ${fault.what}`, async () => {
      await using storage = new SqliteStorage({ onSmallDisk: fault === FULL });
      await expect(keepPromises(storage, fault)).resolves.toBeUndefined();
    });
});

const PAGE = 4096;

test('npm run check-database finds a damaged page, and says what to do', async () => {
  await using storage = new SqliteStorage();
  await using service = storage.start();
  await using load = new OrderLoad(await service.url());
  await load.acknowledges(40);
  await load.end();
  const check = () => new ServiceProcess({ DATA_DIR: storage.folder }, { program: 'check-database.js' }).exit;
  expect(await check()).toEqual({ code: 0, output: 'No damage was found.\n' });
  service.kill();
  await service.exit;
  const pool = createSqlitePool({ path: storage.file });
  await pool.query('PRAGMA wal_checkpoint(TRUNCATE)');
  await pool.close();
  const damaged = openSync(storage.file, 'r+');
  writeSync(damaged, Buffer.alloc(200, 'noise'), 0, 200, statSync(storage.file).size - PAGE);
  closeSync(damaged);
  const { code, output } = await check();
  expect(code).toBe(1);
  expect(output).toMatch(/restore a backup/i);
  expect(output).not.toMatch(/^\s+at /m);
});
