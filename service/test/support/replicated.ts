import { type FaultyProxy, openProxy, type Server, startServer } from '@ambit/host-contract';
import { Client } from 'pg';
import { readConfig, type Service, startService } from '../../src/index.js';
import type { HostVariant } from './app.js';
import { type JsonResponse, request } from './http.js';

const STALE_AFTER_MS = 10_000;

/** A primary and its standby, each behind a proxy that a test may cut, and instances of the service on them. */
export class ReplicatedStage {
  readonly #primary: Server;
  readonly #standby: Server;
  readonly #onPrimary: Client;
  readonly #onStandby: Client;
  readonly #services: Service[] = [];
  readonly toPrimary: FaultyProxy;
  readonly toStandby: FaultyProxy;

  private constructor(parts: readonly [Server, Server], clients: readonly [Client, Client], proxies: FaultyProxy[]) {
    [this.#primary, this.#standby] = parts;
    [this.#onPrimary, this.#onStandby] = clients;
    [this.toPrimary, this.toStandby] = proxies as [FaultyProxy, FaultyProxy];
  }

  static async open(): Promise<ReplicatedStage> {
    const primary = await startServer();
    const standby = await primary.standby();
    const open = async ({ url }: Server): Promise<Client> => {
      const client = new Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      return client;
    };
    const proxies = [primary, standby].map(({ port }) => openProxy({ host: '127.0.0.1', port }));
    return new ReplicatedStage(
      [primary, standby],
      [await open(primary), await open(standby)],
      await Promise.all(proxies),
    );
  }

  get urls(): Readonly<Record<'primary' | 'standby' | 'both', string>> {
    const [primary, standby] = [this.toPrimary.port, this.toStandby.port];
    return { primary: urlAt(primary), standby: urlAt(standby), both: urlAt(primary, standby) };
  }

  /** An instance of the service, until the test is finished. */
  async start(HOST_VARIANT: HostVariant = 'fastify', env: Readonly<Record<string, string>> = {}): Promise<Instance> {
    const { primary, standby } = this.urls;
    const service = await startService(
      readConfig({
        HOST_VARIANT,
        PORT: '0',
        LOG_LEVEL: 'silent',
        DATABASE_URL: primary,
        DATABASE_READ_URL: standby,
        DATABASE_READ_FROM: 'replica',
        TRANSACTION_CHECK: 'throw',
        ACQUIRE_TIMEOUT_MS: '500',
        ...env,
      }),
    );
    this.#services.push(service);
    return new Instance(service);
  }

  /** From now on the standby falls behind. */
  async pauseReplay(): Promise<void> {
    await this.caughtUp();
    await this.#onStandby.query('SELECT pg_wal_replay_pause()');
    const state = 'SELECT pg_get_wal_replay_pause_state() AS state';
    while ((await this.#onStandby.query(state)).rows[0].state !== 'paused');
  }

  async resumeReplay(): Promise<void> {
    await this.#onStandby.query('SELECT pg_wal_replay_resume()');
    await this.caughtUp();
  }

  /** The standby has replayed all that the primary has. */
  async caughtUp(): Promise<void> {
    const { rows } = await this.#onPrimary.query('SELECT pg_current_wal_insert_lsn() AS lsn');
    const isThere = 'SELECT pg_last_wal_replay_lsn() >= $1 AS there';
    while ((await this.#onStandby.query(isThere, [rows[0].lsn])).rows[0].there !== true);
  }

  promoteStandby(): Promise<void> {
    return this.#standby.promote();
  }

  /** No instance is left, and both servers can be reached. */
  async clear(): Promise<void> {
    this.toPrimary.faultAt = this.toStandby.faultAt = () => 'none';
    await Promise.all(this.#services.splice(0).map((service) => service.stop()));
  }

  async close(): Promise<void> {
    await Promise.all([this.#onPrimary.end(), this.#onStandby.end(), this.toPrimary.close(), this.toStandby.close()]);
    this.#standby.stop();
    this.#primary.stop();
  }
}

/** One instance of the service, as its clients see it. */
export class Instance {
  readonly service: Service;

  constructor(service: Service) {
    this.service = service;
  }

  /** As a browser does, which sends the cookie that it has. */
  async send<T = unknown>(method: string, path: string, { body, cookie }: Sent = {}): Promise<Received<T>> {
    const headers = cookie === undefined ? {} : { cookie };
    const response = await request<T>(this.service.url, { method, path, body, headers });
    return {
      ...response,
      from: response.headers.get('cache-status'),
      cookie: response.headers.get('set-cookie')?.split(';')[0],
    };
  }

  get<T = unknown>(path: string, { cookie }: Sent = {}): Promise<Received<T>> {
    return this.send<T>('GET', path, { cookie });
  }

  post(path: string, body: unknown, sent: Sent = {}): Promise<Received<{ id: string }>> {
    return this.send('POST', path, { ...sent, body });
  }

  /** Resolves with the first response that is so. */
  async eventually<T>(path: string, isSo: (response: Received<T>) => boolean): Promise<Received<T>> {
    const deadline = Date.now() + STALE_AFTER_MS;
    for (;;) {
      const response = await this.get<T>(path);
      if (isSo(response)) return response;
      if (Date.now() > deadline) throw new Error(`The last response was ${JSON.stringify(response)}`);
    }
  }
}

interface Sent {
  readonly body?: unknown;
  readonly cookie?: string | undefined;
}

interface Received<T> extends JsonResponse<T> {
  /** `Cache-Status`: null where the primary was asked. */
  readonly from: string | null;
  readonly cookie: string | undefined;
}

function urlAt(...ports: readonly number[]): string {
  return `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres`;
}
