import assert from 'node:assert/strict';
import type { Binding } from '@ambit/container';
import { override } from '@ambit/container/tools';
import { chosen, type Interference, type Step } from '@ambit/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import { HOST_VARIANTS } from '../../src/config/config.js';
import type { Health } from '../../src/health.js';
import { App, type HostVariant } from './app.js';
import { type DatabaseKind, databaseKinds, sqlite, type TestDatabase } from './databases.js';
import type { JsonResponse, Request } from './http.js';

const EMPTIED = ['users', 'order_items', 'orders', 'stock', 'reservations', 'idempotency_keys'];
const letItBe = (): void => undefined;

/** One of the hosts on one of the databases, shared by the tests of a file. */
export class Stage {
  readonly variant: HostVariant;
  readonly kind: DatabaseKind;
  readonly #undo: (() => void)[] = [];
  #database: TestDatabase | undefined;
  #app: App | undefined;

  constructor(variant: HostVariant, kind: DatabaseKind) {
    this.variant = variant;
    this.kind = kind;
  }

  get app(): App {
    return this.#app!;
  }

  get database(): TestDatabase {
    return this.#database!;
  }

  get<T = unknown>(path: string): Promise<JsonResponse<T>> {
    return this.app.request<T>({ path });
  }

  post<T = unknown>(path: string, body: unknown, headers: Request['headers'] = {}): Promise<JsonResponse<T>> {
    return this.app.request<T>({ method: 'POST', path, body, headers });
  }

  /** Queries the database from outside the request. */
  rows<R extends object>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
    return this.app.pool.query<R>(sql, params);
  }

  /** Overrides registrations until the test is finished. */
  replace(...bindings: readonly Binding[]): void {
    const replaced = override(this.app.container, ...bindings);
    this.#undo.push(() => replaced[Symbol.dispose]());
  }

  /** Has the running service report this health until the test is finished. */
  report(health: Health): void {
    const running = this.app.container.resolve('IHealth');
    const { readiness } = running;
    running.readiness = () => health.readiness();
    this.#undo.push(() => (running.readiness = readiness));
  }

  /** Runs before the step reaches the database, until the test is finished; what it throws is the step's failure. */
  before(step: Step, interfere: Interference): void {
    this.app.pool.before(step, interfere);
    this.#undo.push(() => this.app.pool.before(step, letItBe));
  }

  beforeAcquire(interfere: () => unknown): void {
    this.app.pool.beforeAcquire(interfere);
    this.#undo.push(() => this.app.pool.beforeAcquire(letItBe));
  }

  /** The same, after the database has carried out the step and before its result arrives. */
  after(step: Step, interfere: Interference): void {
    this.app.pool.after(step, interfere);
    this.#undo.push(() => this.app.pool.after(step, letItBe));
  }

  async open(): Promise<void> {
    this.#database = await this.kind.open();
    this.#app = await App.start(this.variant, this.#database.env);
  }

  /** Every test starts with an empty database and an empty log. */
  async clear(): Promise<void> {
    const connection = await this.app.pool.getConnection();
    await connection.beginTransaction();
    for (const table of EMPTIED) await connection.query(`DELETE FROM ${table}`);
    await connection.commit();
    connection.release();
    this.app.log.clear();
  }

  /** Checked after every test: all scopes are disposed, each once; every connection was returned. */
  async balance(): Promise<void> {
    for (const undo of this.#undo.splice(0)) undo();
    this.app.identify = () => undefined;
    await this.app.quiet();
    assert.deepEqual(this.app.scopes.disposedTwice, []);
    this.app.container.resolve('ITransactionCheck').assertNone();
  }

  async close(): Promise<void> {
    await this.#app?.stop();
    await this.#database?.drop();
  }
}

type Stories = (stage: Stage) => void;

function onStages(hosts: readonly HostVariant[], kinds: readonly DatabaseKind[], stories: Stories): void {
  describe.each(kinds)('with $name', (kind) => {
    describe.skipIf(kind.missing).each(hosts)('on %s', (variant) => {
      const stage = new Stage(variant, kind);
      beforeAll(() => stage.open());
      beforeEach(() => stage.clear());
      afterEach(() => stage.balance());
      afterAll(() => stage.close());
      stories(stage);
    });
  });
}

/** Runs the same tests on both hosts and all databases: for the story, which meets all that differs. */
export const onEveryStage = (stories: Stories): void => onStages(HOST_VARIANTS, chosen(databaseKinds), stories);

/** For SQL, which differs between the databases. */
export const onEveryDatabase = (stories: Stories, kinds = databaseKinds): void =>
  onStages(['fastify'], chosen(kinds), stories);

/** For what each host does in its own way. */
export const onBothHosts = (stories: Stories): void => onStages(HOST_VARIANTS, [sqlite], stories);

/** For what the hosts and the databases share. */
export const onOneStage = (stories: Stories): void => onStages(['fastify'], [sqlite], stories);
