import { Container, Registration } from '@ambit/container';
import type { IConnection } from '@ambit/transaction';
import { type FakeFault, FakePool, type FaultPoint } from '@ambit/transaction/testing';
import { describe, expect, test } from 'vitest';
import { Chance, FAULTS, firstSeed, Happenings, RawClient, replayedSeed, ScopeLedger } from '@ambit/test-kit';
import { express4Hosts, expressHost } from './adapters/express.js';
import { fastifyHost } from './adapters/fastify.js';
import { fetchHost } from './adapters/fetch.js';
import { runtime } from './adapters/fetch-server.js';
import { honoHost } from './adapters/hono.js';
import type { Call, Host, Reply } from '@ambit/testing/hosts';
import { nodeHost } from './adapters/node.js';

const SEED = replayedSeed ?? firstSeed;
const CLIENTS = 8;
const ORDERS_PER_CLIENT = 60;

const HALF_AN_ORDER =
  'POST /orders HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a';

/** Lets other events happen, so many times over; no clock is involved. */
async function hops(times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await new Promise((resolve) => void setImmediate(resolve));
}

/** Clients and a database that misbehave as the seed says, against one host over real sockets. */
class Crowd {
  readonly acknowledged: string[] = [];
  readonly refused: string[] = [];
  readonly happenings = new Happenings();
  readonly scopes = new ScopeLedger(this.happenings);
  readonly #chance = new Chance(SEED);
  readonly pool = new FakePool({ max: 3, acquireTimeoutMs: 20, faultAt: (point) => this.#fault(point) });

  async play(host: Host): Promise<void> {
    const container = new Container({ tags: ['application'] });
    container.addRegistration(Registration.fromValue(this.pool).to('IDatabasePool'));
    const unfollow = this.scopes.follow(container);
    // A busy machine makes them wait for a connection longer than a transaction may be open here.
    const times = { acquireTimeoutMs: 5000, timeoutMs: 150, endTimeoutMs: 50, cancelAfterMs: 5 };
    const transaction = { ...times, onError: () => undefined };
    const route = { method: 'POST', path: '/orders', transaction, handle: (call: Call) => this.#handle(call) } as const;
    const ignore = (): void => undefined;
    const running = await host.start({ container, routes: [route], onDisposeError: ignore, onError: ignore });
    await Promise.all(Array.from({ length: CLIENTS }, (_, index) => this.#client(running.port, index)));
    await this.scopes.allDisposed();
    await running.close();
    // Waits until the last connection is back in the pool, so a connection that is never returned is a test that never ends.
    await this.pool.close();
    unfollow();
  }

  #fault(point: FaultPoint): FakeFault {
    const goesWell: FakeFault = { ms: this.#chance.pick([0, 0, 0, 1]), kind: 'none' };
    const fails = this.#chance.pick([0, 0, 0, 0, 0, 0, 0, 1]) === 1;
    if (!fails) return goesWell;
    const kind = this.#chance.pick(FAULTS);
    return { ms: 0, kind: point === 'acquire' && kind === 'never' ? 'refused' : kind };
  }

  async #handle({ transactionScope, body }: Call): Promise<Reply | void> {
    const { id } = body as { id: string };
    const connection = transactionScope.resolve<IConnection>('IConnection');
    await connection.query(id);
    const deed = this.#chance.pick(['respond', 'respond', 'respond', 'respond late', 'throw', 'swallow', 'never']);
    if (deed === 'respond late') await hops(this.#chance.pick([1, 5, 20]));
    if (deed === 'throw') throw new Error('the handler failed');
    if (deed === 'swallow') await connection.query(`${id} again`).catch(() => undefined);
    if (deed === 'never') await new Promise<void>(() => undefined);
    return { kind: 'json', status: 201, body: { id } };
  }

  async #client(port: number, index: number): Promise<void> {
    for (let order = 0; order < ORDERS_PER_CLIENT; order += 1) {
      const client = await RawClient.connect(port);
      const ids = Array.from({ length: this.#chance.pick([1, 1, 1, 2, 3]) }, (_, part) => `${index}-${order}-${part}`);
      const deed = this.#chance.pick(['stay', 'stay', 'leave', 'reset', 'cut']);
      if (deed === 'cut') client.write(HALF_AN_ORDER);
      else client.send(...ids.map((id) => ({ method: 'POST', path: '/orders', body: { id } })));
      if (deed !== 'stay') await hops(this.#chance.pick([0, 1, 3, 10, 30]));
      else await this.#readResponses(client, ids);
      if (deed === 'reset') client.reset();
      else client.leave();
    }
  }

  async #readResponses(client: RawClient, ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      // A handler that never responds is left after a while.
      const response = await client.response(2000).catch(() => undefined);
      if (!response) return;
      if (response.status === 201) this.acknowledged.push(id);
      else if (!response.text.includes('AMBIT_TX_OUTCOME_UNKNOWN')) this.refused.push(id);
    }
  }
}

const hosts =
  runtime === 'Node' ? [expressHost, ...express4Hosts, fastifyHost, nodeHost, honoHost, fetchHost] : [fetchHost];

describe.each(hosts)('many unruly clients and a database that fails at random, on $name', (host) => {
  test(`finish everything once, and receive no untrue response (SEED=${SEED})`, async () => {
    const crowd = new Crowd();
    await crowd.play(host);
    const stored = new Set(crowd.pool.stored);
    expect(crowd.scopes.open).toEqual([]);
    expect(crowd.pool.out).toBe(0);
    expect(crowd.pool.violations).toEqual([]);
    expect(crowd.acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(crowd.refused.filter((id) => stored.has(id))).toEqual([]);
    expect(crowd.acknowledged.length).toBeGreaterThan(20);
    expect(crowd.refused.length).toBeGreaterThan(5);
  });
});
