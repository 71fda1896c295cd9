import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container } from '@ambit/container';
import { hasPostgres, openSchema } from '@ambit/test-kit';
import { Sandboxes } from '@ambit/transaction/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../app.js';
import { hashOf, isPassword, Tokens } from '../auth.js';
import { createContainer } from '../graph.js';
import { walkThrough } from './walk-through.js';

const TABLES = ['users', 'follows', 'articles', 'tags', 'favorites', 'comments'];

/** Where the tables are, and how they are removed. */
type Place = readonly [databaseUrl: string | undefined, file: string, remove: () => Promise<void> | void];

async function onSqlite(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'conduit-'));
  return [undefined, join(folder, 'conduit.db'), () => rmSync(folder, { recursive: true })];
}

async function onPostgres(): Promise<Place> {
  const schema = await openSchema();
  return [schema.url(), '', () => schema.drop()];
}

describe.each([
  ['SQLite', onSqlite, false],
  ['PostgreSQL', onPostgres, !hasPostgres],
])('the RealWorld API on %s', (_name, open, missing) => {
  describe.skipIf(missing)('with tables of its own', () => {
    let container: Container;
    let sandboxes: Sandboxes;
    let server: Server;
    let url: string;
    let remove: Place[2];

    const rows = async (): Promise<number> => {
      const pool = container.resolve('IDatabasePool');
      const counts = await Promise.all(TABLES.map((table) => pool.query(`SELECT * FROM ${table}`)));
      return counts.reduce((sum, { length }) => sum + length, 0);
    };

    beforeAll(async () => {
      const [databaseUrl, file, removeIt] = await open();
      remove = removeIt;
      container = createContainer({ databaseUrl, file, secret: 'of the test' });
      await container.start();
      sandboxes = new Sandboxes(container);
      server = createApp(sandboxes.scopeOf).listen(0);
      await once(server, 'listening');
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
    });
    afterAll(async () => {
      server.close();
      server.closeAllConnections();
      await container.dispose();
      await remove();
    });

    test('responds in a sandbox, and leaves no row', async () => {
      const id = await sandboxes.create();
      await walkThrough(url, { 'x-ambit-sandbox': id });
      await sandboxes.release(id);
      expect(await rows()).toBe(0);
    });

    test('responds in the same way on the database itself', async () => {
      await walkThrough(url, {});
      expect(await rows()).toBeGreaterThan(0);
    });
  });
});

test('a token is read in time that grows with its length, and only whole', () => {
  const tokens = new Tokens('of the test');
  const token = tokens.issue(7);
  expect(tokens.viewerOf(`Token ${token}`).id).toBe(7);
  const since = process.cpuUsage();
  const wrong = [`${token}x`, `${token}.x`, token.replace(/^[^.]+/, 'e30'), `${'.'.repeat(4000)} x`];
  expect(wrong.map((text) => tokens.viewerOf(`Token ${text}`).id)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(msOfCpu(since)).toBeLessThan(1000);
});

test('a password is checked with the same work whether there is an account or not', async () => {
  const hash = await hashOf('right');
  const shortest = async (against?: string): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const since = process.cpuUsage();
      expect(await isPassword('wrong', against)).toBe(false);
      times.push(msOfCpu(since));
    }
    return Math.min(...times);
  };
  expect(await shortest()).toBeGreaterThan((await shortest(hash)) / 4);
  expect(await isPassword('right', hash)).toBe(true);
});

/** Time of the processor, which grows little where other programs take it away. */
function msOfCpu(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}
