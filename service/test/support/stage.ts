import assert from 'node:assert/strict';
import type { Binding } from '@ambit/container';
import { override } from '@ambit/container/tools';
import type { Interference, Step } from '@ambit/host-contract';
import { App, type HostVariant } from './app.js';
import type { DatabaseKind, TestDatabase } from './databases.js';
import type { Answer, Request } from './http.js';

const EMPTIED = ['users', 'order_items', 'orders', 'stock', 'reservations', 'idempotency_keys'];
const letItBe = (): void => undefined;

/** One of the hosts on one of the databases, shared by the stories of a file. */
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

  get<T = unknown>(path: string): Promise<Answer<T>> {
    return this.app.request<T>({ path });
  }

  post<T = unknown>(path: string, body: unknown, headers: Request['headers'] = {}): Promise<Answer<T>> {
    return this.app.request<T>({ method: 'POST', path, body, headers });
  }

  /** What anybody else sees of the database. */
  rows<R extends object>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
    return this.app.pool.query<R>(sql, params);
  }

  /** Until the story ends these registrations win. */
  replace(...bindings: readonly Binding[]): void {
    const replaced = override(this.app.container, ...bindings);
    this.#undo.push(() => replaced[Symbol.dispose]());
  }

  /** Until the story ends this runs before the step reaches the database; what it throws is the step's failure. */
  before(step: Step, interfere: Interference): void {
    this.app.pool.before(step, interfere);
    this.#undo.push(() => this.app.pool.before(step, letItBe));
  }

  beforeAcquire(interfere: () => unknown): void {
    this.app.pool.beforeAcquire(interfere);
    this.#undo.push(() => this.app.pool.beforeAcquire(letItBe));
  }

  /** The same, when the database has acted and before it is heard of. */
  after(step: Step, interfere: Interference): void {
    this.app.pool.after(step, interfere);
    this.#undo.push(() => this.app.pool.after(step, letItBe));
  }

  async open(): Promise<void> {
    this.#database = await this.kind.open();
    this.#app = await App.start(this.variant, this.#database.env);
  }

  /** Every story finds an empty database and an empty log. */
  async clear(): Promise<void> {
    const connection = await this.app.pool.getConnection();
    await connection.beginTransaction();
    for (const table of EMPTIED) await connection.query(`DELETE FROM ${table}`);
    await connection.commit();
    connection.release();
    this.app.log.clear();
  }

  /** What every story ends with: all scopes ended, each once; every connection came back. */
  async balance(): Promise<void> {
    for (const undo of this.#undo.splice(0)) undo();
    this.app.identify = () => undefined;
    await this.app.quiet();
    assert.deepEqual(this.app.scopes.endedTwice, []);
  }

  async close(): Promise<void> {
    await this.#app?.stop();
    await this.#database?.drop();
  }
}
