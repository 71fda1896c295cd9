import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { ServiceProcess } from './service-process.js';

/** The service then sees a file system of 4 MB in its folder, which nobody else sees. Works without root where users may do so. */
const ON_SMALL_DISK = [
  '-rm',
  'sh',
  '-c',
  'mount -t tmpfs -o size=4m none "$DATA_DIR" && exec "$0" "$@"',
  process.execPath,
];

export const canMountDisks =
  process.platform === 'linux' && spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', tmpdir()]).status === 0;

/** The folder of the embedded database. */
export class SqliteStorage implements AsyncDisposable {
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

  async products(): Promise<ReadonlySet<string>> {
    const rows = await this.read<{ product_id: string }>('SELECT product_id FROM order_items');
    return new Set(rows.map(({ product_id: product }) => product));
  }

  /** From a copy, because the file may be on a disk that ends with the service. */
  async read<R extends object>(sql: string): Promise<R[]> {
    const copy = join(mkdtempSync(this.beside('copy-')), 'ambit.db');
    for (const suffix of ['', '-wal'])
      if (existsSync(this.file + suffix)) copyFileSync(this.file + suffix, copy + suffix);
    await using pool = createSqlitePool({ path: copy });
    return await pool.query<R>(sql);
  }

  /** `npm run check-database`. */
  async check(): Promise<{ code: number | null; output: string }> {
    const { code, output } = await new ServiceProcess({ DATA_DIR: this.#data }, { program: 'check-database.js' }).exit;
    return { code, output };
  }

  /** Runs statements as another program does, one after the other. */
  async run(...statements: readonly string[]): Promise<void> {
    await using pool = createSqlitePool({ path: this.file });
    for (const sql of statements) await pool.query(sql);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#own, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#own, 'data');
  }
}
