import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canStartServers, type Server, startServer } from '@ambit/host-contract';
import { createPostgresPool } from '@ambit/transaction/postgres';
import type { HostVariant } from './app.js';
import { ServiceProcess } from './service-process.js';
import type { Storage } from './storage-faults.js';

const mount = (folder: string, megabytes: number): boolean =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0777`, 'none', folder]).status === 0;
const unmount = (folder: string): void => void spawnSync('umount', [folder]);

/** Whether the server can have a table on a disk of its own. */
export function canMountForServers(): boolean {
  if (!canStartServers || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), 'ambit-disk-'));
  const mounted = mount(folder, 1);
  unmount(folder);
  rmSync(folder, { recursive: true });
  return mounted;
}

/** A server of its own. */
export class PostgresStorage implements Storage {
  readonly server: Server;
  /** The disk of the tables, if they have one. */
  readonly disk: string | undefined;
  #changed = '';

  private constructor(server: Server, disk: string | undefined) {
    this.server = server;
    this.disk = disk;
  }

  /** `disk` is what is on a disk of its own, of so many MB. */
  static async open(disk?: {
    readonly has: 'tables' | 'everything';
    readonly megabytes: number;
  }): Promise<PostgresStorage> {
    if (!disk) return new PostgresStorage(await startServer(), undefined);
    const folder = mkdtempSync(join(tmpdir(), 'ambit-disk-'));
    mount(folder, disk.megabytes);
    const own = join(folder, 'own');
    execFileSync('install', ['-d', '-o', 'postgres', own]);
    if (disk.has === 'everything') return new PostgresStorage(await startServer({}, own), folder);
    const storage = new PostgresStorage(await startServer(), folder);
    await storage.run(`CREATE TABLESPACE small LOCATION '${own}'`);
    await storage.run('ALTER DATABASE postgres SET default_tablespace = small');
    return storage;
  }

  start(host: HostVariant): ServiceProcess {
    return new ServiceProcess({ HOST_VARIANT: host, DATABASE_URL: this.server.url, TRANSACTION_CHECK: 'throw' });
  }

  async run<R extends object>(sql: string): Promise<R[]> {
    const options = 'options=-c%20default_transaction_read_only%3Doff';
    const pool = createPostgresPool({ connectionString: `${this.server.url}?${options}`, max: 1 });
    try {
      return await pool.query<R>(sql);
    } finally {
      await pool.close();
    }
  }

  async products(): Promise<ReadonlySet<string>> {
    const rows = await this.run<{ product: string }>('SELECT product_id AS product FROM order_items');
    return new Set(rows.map(({ product }) => product));
  }

  /** While the server is stopped, so that it reads the file again. */
  async changeTable(name: string, change: (file: string) => void): Promise<void> {
    const [found] = await this.run<{ path: string }>(`SELECT pg_relation_filepath('${name}') AS path`);
    await this.server.restart(() => {
      const file = join(this.server.data, found?.path ?? '');
      copyFileSync(file, this.#copy);
      this.#changed = file;
      change(file);
    });
  }

  get #copy(): string {
    return `${this.server.data}-copy`;
  }

  /** Puts the file back as it was. */
  async restoreTable(): Promise<void> {
    await this.server.restart(() => {
      // The owner and the rights stay those of the server's file, where there is one.
      copyFileSync(this.#copy, this.#changed);
      execFileSync('chown', ['--reference', this.server.data, this.#changed]);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.stop();
    rmSync(this.#copy, { force: true });
    if (!this.disk) return;
    unmount(this.disk);
    rmSync(this.disk, { recursive: true });
  }
}

/** Every byte of a page but its first ones, as a disk that wrote something else. */
export function damage(file: string): void {
  const bytes = Buffer.alloc(statSync(file).size, 'noise');
  writeFileSync(file, bytes, { flag: 'r+' });
}
