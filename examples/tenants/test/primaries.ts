import { type Server, startServer } from '@ambit/test-kit';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { addPrimary, createTenant } from '../create-tenant.js';
import { Directory, findPrimary } from '../directory.js';
import { moveTenant } from '../move.js';
import { asOwner } from '../tenant-database.js';

/** Logical replication needs the first; a move needs a slot, and while it copies one for each table. */
const SETTINGS = {
  wal_level: 'logical',
  max_connections: '200',
  max_replication_slots: '20',
  max_wal_senders: '20',
  wal_retrieve_retry_interval: '100ms',
};

export const STOCK = 1_000_000;
export const PRODUCTS = ['tea', 'coffee', 'milk'];

/** PostgreSQL servers of a test's own, named p1, p2 ...; the first one has the directory. */
export class Primaries {
  readonly directory: Directory;
  readonly directoryUrl: string;
  readonly servers: readonly Server[];

  private constructor(servers: readonly Server[], directoryUrl: string) {
    this.servers = servers;
    this.directoryUrl = directoryUrl;
    this.directory = new Directory(directoryUrl);
  }

  static async start(count: number): Promise<Primaries> {
    const servers = await Promise.all(Array.from({ length: count }, () => startServer(SETTINGS)));
    const primaries = new Primaries(servers, servers[0]?.url ?? '');
    for (const [index, { port }] of servers.entries())
      await addPrimary(primaries.directory, { name: `p${index + 1}`, host: '127.0.0.1', port });
    return primaries;
  }

  create(tenant: string, primary: string): Promise<void> {
    return createTenant(this.directory, tenant, primary, Object.fromEntries(PRODUCTS.map((name) => [name, STOCK])));
  }

  async move(tenant: string, to: string): Promise<void> {
    // A program of its own has a session of its own.
    const directory = new Directory(this.directoryUrl);
    for await (const step of moveTenant(directory, tenant, to)) void step;
    await directory[Symbol.asyncDispose]();
  }

  /** What a query finds in a database of a primary, for the owner. */
  async query<R extends object>(primary: string, database: string, sql: string, params: string[] = []): Promise<R[]> {
    const pool = asOwner(await findPrimary(this.directory.database, primary), database);
    try {
      return (await pool.query(sql, params)) as R[];
    } finally {
      await pool.close();
    }
  }

  async stop(): Promise<void> {
    await this.directory[Symbol.asyncDispose]();
    for (const server of this.servers) server.stop();
  }
}

/** As an application that has not heard of a move. */
export const asApplication = (server: Server | undefined, database: string) =>
  createPostgresPool({ host: '127.0.0.1', port: server?.port ?? 0, user: 'shop', database, max: 1 });
