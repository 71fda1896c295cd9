import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { drain } from '@ambit/express';
import { canStartServers } from '@ambit/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Directory } from '../directory.js';
import { onExpress, onFastify } from '../hosts.js';
import { moveTenant, type Step } from '../move.js';
import { Shop } from '../shop.js';
import { asOwner, lockOut } from '../tenant-database.js';
import { Customers } from './customers.js';
import { asApplication, Primaries } from './primaries.js';

interface Instance {
  readonly url: string;
  close(): Promise<unknown>;
}

async function startExpress(directoryUrl: string): Promise<Instance> {
  const shop = new Shop({ directoryUrl });
  const server = createServer(onExpress(shop)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => drain(server).then(() => shop[Symbol.asyncDispose]()) };
}

async function startFastify(directoryUrl: string): Promise<Instance> {
  const server = await onFastify(new Shop({ directoryUrl }));
  return { url: await server.listen({ port: 0, host: '127.0.0.1' }), close: () => server.close() };
}

const STEPS: readonly Step[] = [
  'begin',
  'prepare',
  'copy',
  'follow',
  'lock out',
  'catch up',
  'switch',
  'unlock',
  'clean up',
];

describe.skipIf(!canStartServers)('tenants on two primaries', () => {
  let primaries: Primaries;
  let instances: Instance[];
  let created = 0;
  let tenant: string;

  beforeAll(async () => {
    primaries = await Primaries.start(2);
  });
  afterAll(() => primaries.stop());
  beforeEach(async () => {
    tenant = `acme${(created += 1)}`;
    await primaries.create(tenant, 'p1');
    instances = await Promise.all([startExpress(primaries.directoryUrl), startFastify(primaries.directoryUrl)]);
  });
  afterEach(() => Promise.all(instances.map((instance) => instance.close())));

  const urls = (): string[] => instances.map(({ url }) => url);
  const order = (instance: number, id: string, of = tenant): Promise<Response> =>
    fetch(`${urls()[instance]}/orders`, {
      method: 'POST',
      headers: { 'x-tenant': of, 'content-type': 'application/json' },
      body: JSON.stringify({ id, product: 'tea', quantity: 1 }),
    });
  const homeOf = async (name: string): Promise<string> => (await primaries.directory.find(name)).home.name;

  it('a tenant moves there and back while it is in use, and no order is lost', async () => {
    const other = `${tenant}_other`;
    await primaries.create(other, 'p1');
    const customers = new Customers([tenant, other], urls);
    await customers.placed(20);
    for (const to of ['p2', 'p1']) {
      await primaries.move(tenant, to);
      expect(await homeOf(tenant)).toBe(to);
      await customers.placed(20);
    }
    await customers.stop();
    expect(await customers.violations(primaries)).toEqual([]);
    expect(customers.statuses.get('503')).toBeGreaterThan(0);
  });

  it('a move that is stopped at every step is run again, and no order is lost', async () => {
    const customers = new Customers([tenant], urls);
    await customers.placed(10);
    for (const stopped of STEPS) {
      const directory = new Directory(primaries.directoryUrl);
      for await (const step of moveTenant(directory, tenant, 'p2')) if (step === stopped) break;
      await directory[Symbol.asyncDispose]();
    }
    await primaries.move(tenant, 'p2');
    await customers.placed(10);
    await customers.stop();
    expect(await homeOf(tenant)).toBe('p2');
    expect(await customers.violations(primaries)).toEqual([]);
    expect(await primaries.query('p1', 'postgres', 'SELECT slot_name FROM pg_replication_slots')).toEqual([]);
    expect(await primaries.query('p1', 'postgres', 'SELECT tenant FROM moves')).toEqual([]);
  });

  it('a copy without its subscription, and a slot without its subscriber, are no obstacle', async () => {
    const database = `shop_${tenant}`;
    await primaries.query('p2', 'postgres', `CREATE DATABASE ${database}`);
    await primaries.query('p2', database, 'CREATE TABLE orders (id text)');
    const slot = "SELECT pg_create_logical_replication_slot($1, 'pgoutput')";
    await primaries.query('p1', database, slot, [database]);
    expect((await order(0, 'kept')).status).toBe(201);
    await primaries.move(tenant, 'p2');
    expect(await primaries.query('p2', database, 'SELECT id FROM orders')).toEqual([{ id: 'kept' }]);
  });

  it('an instance that has not heard of the move writes nothing to the old primary, and finds the new one', async () => {
    expect((await order(0, 'before')).status).toBe(201);
    await primaries.move(tenant, 'p2');
    const refused = await order(0, 'after');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await order(0, 'after')).status).toBe(201);
    const rows = await primaries.query('p2', `shop_${tenant}`, 'SELECT id FROM orders ORDER BY id');
    expect(rows).toEqual([{ id: 'after' }, { id: 'before' }]);
  });

  it('locking out waits for a transaction that has written, and refuses every statement after it', async () => {
    const database = `shop_${tenant}`;
    const pools = [0, 1].map(() => asApplication(primaries.servers[0], database));
    const [first, second] = await Promise.all(pools.map((pool) => pool.getConnection()));
    await first?.beginTransaction();
    const insert = "INSERT INTO orders VALUES ($1, 'tea', 1)";
    await first?.query(insert, ['in time']);
    await second?.query('SELECT id FROM orders');

    const owner = asOwner((await primaries.directory.find(tenant)).home, database);
    const locking = lockOut(owner);
    const waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'ShareRowExclusiveLock'";
    while ((await primaries.query('p1', database, waiting)).length === 0);
    const late = second?.query(insert, ['too late']).catch((error: unknown) => error);
    await first?.commit();
    await locking;
    expect(await late).toMatchObject({ sqlState: '42501' });
    await expect(second?.query('SELECT id FROM orders')).rejects.toMatchObject({ sqlState: '42501' });
    expect(await owner.query('SELECT id FROM orders')).toEqual([{ id: 'in time' }]);
    first?.release();
    second?.release();
    await Promise.all([...pools, owner].map((pool) => pool.close()));
  });

  it('a tenant is not switched before its copy has every order, and stays where it was if that takes too long', async () => {
    const database = `shop_${tenant}`;
    const onTarget = asOwner({ name: 'p2', host: '127.0.0.1', port: primaries.servers[1]?.port ?? 0 }, database);
    let apply = async (): Promise<void> => undefined;
    /** An order is placed when nothing is applied to the copy any more, until `apply()` is called. */
    const moveWith = async (id: string, catchUpMs: number, whileClosed = (): void => undefined): Promise<void> => {
      for await (const step of moveTenant(primaries.directory, tenant, 'p2', { catchUpMs })) {
        if (step === 'lock out') {
          const connection = await onTarget.getConnection();
          await connection.beginTransaction();
          await connection.query('LOCK TABLE orders IN ACCESS EXCLUSIVE MODE');
          apply = async () => {
            await connection.rollback();
            connection.release();
          };
          expect((await order(0, id)).status).toBe(201);
        } else if (step === 'catch up') whileClosed();
      }
    };
    await expect(moveWith('one', 300)).rejects.toThrow('The copy did not catch up');
    await apply();
    expect(await homeOf(tenant)).toBe('p1');
    expect((await order(0, 'two')).status).toBe(201);

    let homeWhileClosed = '';
    await moveWith('three', 30_000, () => {
      const later = async (): Promise<void> => {
        homeWhileClosed = await homeOf(tenant);
        await apply();
      };
      setTimeout(() => void later(), 500);
    });
    expect(homeWhileClosed).toBe('p1');
    const rows = await primaries.query('p2', database, 'SELECT id FROM orders ORDER BY id');
    expect(rows).toEqual([{ id: 'one' }, { id: 'three' }, { id: 'two' }]);
    await onTarget.close();
  });

  it('a move is refused while another one to a third primary is unfinished', async () => {
    for await (const step of moveTenant(primaries.directory, tenant, 'p2')) if (step === 'copy') break;
    await primaries.directory.database.query("INSERT INTO primaries VALUES ('p3', 'localhost', 1)");
    await expect(primaries.move(tenant, 'p3')).rejects.toThrow(`Finish the move of ${tenant} to p2 first`);
    await primaries.move(tenant, 'p2');
    await primaries.directory.database.query("DELETE FROM primaries WHERE name = 'p3'");
  });

  it('an unknown tenant gets 404, a request without one 400, and too large an order 409', async () => {
    for (const instance of [0, 1]) {
      expect((await order(instance, 'x', 'nobody')).status).toBe(404);
      expect((await order(instance, 'x', '')).status).toBe(400);
    }
    await primaries.query('p1', `shop_${tenant}`, 'UPDATE stock SET level = 0');
    expect((await order(0, 'x')).status).toBe(409);
    expect((await order(1, 'x')).status).toBe(409);
  });
});
