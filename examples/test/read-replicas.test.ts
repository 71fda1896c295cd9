import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { canStartServers, type Server, startServer } from '@ambit/test-kit';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createReplicatedPool, type ReplicatedPool } from '@ambit/transaction/replicas';
import { drain } from '@ambit/express';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { onExpress, onFastify } from '../read-replicas.js';

interface Instance {
  readonly url: string;
  close(): Promise<unknown>;
}

const hosts: [string, (pool: ReplicatedPool) => Promise<Instance>][] = [
  [
    'Express',
    async (pool) => {
      const { app, container } = onExpress(pool);
      const server = createServer(app).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      return { url: `http://127.0.0.1:${port}`, close: () => drain(server).then(() => container.dispose()) };
    },
  ],
  [
    'Fastify',
    async (pool) => {
      const server = await onFastify(pool);
      return { url: await server.listen({ port: 0, host: '127.0.0.1' }), close: () => server.close() };
    },
  ],
];

describe.skipIf(!canStartServers)('read-replicas', () => {
  let primary: Server;
  let standby: Server;
  let onPrimary: Client;
  let onStandby: Client;
  const instances: Instance[] = [];

  beforeAll(async () => {
    primary = await startServer();
    onPrimary = new Client({ connectionString: primary.url });
    await onPrimary.connect();
    await onPrimary.query('CREATE TABLE orders (name text)');
    standby = await primary.standby();
    onStandby = new Client({ connectionString: standby.url });
    await onStandby.connect();
  });
  afterAll(async () => {
    await Promise.all([onPrimary.end(), onStandby.end()]);
    standby.stop();
    primary.stop();
  });
  beforeEach(async () => {
    // What the test before wrote is on the standby, too.
    const [{ written }] = (await onPrimary.query('SELECT pg_current_wal_flush_lsn() AS written')).rows;
    const isReplayed = 'SELECT pg_last_wal_replay_lsn() >= $1 AS replayed';
    while (!(await onStandby.query(isReplayed, [written])).rows[0].replayed);
    await onStandby.query('SELECT pg_wal_replay_pause()');
    const state = 'SELECT pg_get_wal_replay_pause_state() AS state';
    while ((await onStandby.query(state)).rows[0].state !== 'paused');
  });
  afterEach(async () => {
    await Promise.all(instances.splice(0).map((instance) => instance.close()));
    await onStandby.query('SELECT pg_wal_replay_resume()');
  });

  const poolOf = (): ReplicatedPool =>
    createReplicatedPool({
      primary: createPostgresPool({ connectionString: primary.url }),
      replicas: [createPostgresPool({ connectionString: standby.url, targetSessionAttrs: 'prefer-standby' })],
    });

  it.each(hosts)('on %s, a client reads what it wrote on another instance, by its token', async (name, start) => {
    const [one, other] = await Promise.all([start(poolOf()), start(poolOf())]);
    instances.push(one, other);
    const order = async (): Promise<string> => {
      const response = await fetch(`${one.url}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      });
      expect(response.status).toBe(201);
      return response.headers.get('x-read-after') ?? '';
    };
    const read = async (token?: string): Promise<{ names: string[]; token: string | null }> => {
      const response = await fetch(`${other.url}/orders`, token ? { headers: { 'x-read-after': token } } : {});
      const rows = (await response.json()) as { name: string }[];
      return { names: rows.map((row) => row.name), token: response.headers.get('x-read-after') };
    };

    const before = await read();
    expect(before.token).toBeNull();
    const token = await order();
    expect(token).toMatch(/^[0-9A-F]+\/[0-9A-F]+$/);
    expect(await read(token)).toEqual({ names: [...before.names, name], token });
    // The standby is behind: without the token, the order is missing.
    expect((await read()).names).toEqual(before.names);
  });
});
