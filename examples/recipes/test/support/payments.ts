import type { Container } from '@ambit/container';
import { Registration } from '@ambit/container';
import { expectNoOpenScopes, openScopes, override, trackScopes } from '@ambit/container/tools';
import type { IDatabasePool } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, beforeEach } from 'vitest';
import { type Bank, createApp, createTables, type Payment } from '../../payments.js';

const pools: IDatabasePool[] = [];

beforeEach(() => trackScopes());
afterEach(async () => {
  trackScopes(false);
  for (const pool of pools.splice(0)) await pool.close();
});

/** A bank that charges at once, unless a test makes its next charge fail or wait. */
class TestBank implements Bank {
  readonly charged: string[] = [];
  readonly #next: ((signal: AbortSignal) => Promise<void>)[] = [];

  async charge({ id }: Payment, signal: AbortSignal): Promise<void> {
    await this.#next.shift()?.(signal);
    this.charged.push(id);
  }

  failOnce(error = new Error('The bank is closed')): void {
    this.#next.push(async () => {
      throw error;
    });
  }

  /** The next charge waits until it is released, or fails when its signal aborts. */
  holdOnce(): { readonly reached: Promise<void>; release(): void } {
    const [reached, released] = [withResolver(), withResolver()];
    this.#next.push(async (signal) => {
      reached.resolve();
      const aborted = withResolver();
      signal.addEventListener('abort', aborted.resolve);
      if (!signal.aborted) await Promise.race([released.promise, aborted.promise]);
      signal.throwIfAborted();
    });
    return { reached: reached.promise, release: released.resolve };
  }
}

export interface PaymentsApp {
  readonly app: Container;
  readonly bank: TestBank;
  /** The payments in the database, also after the application was disposed. */
  stored(): Promise<Payment[]>;
  /** Fails if a scope is open, and says where it was opened. */
  expectNoOpenScopes(): void;
  openScopes(): number;
}

/** The application of the recipes with a bank of the test, and a pool that outlives it. */
export async function paymentsApp(pool: IDatabasePool = createSqlitePool({ path: ':memory:' })): Promise<PaymentsApp> {
  pools.push(pool);
  await createTables(pool);
  const bank = new TestBank();
  const app = createApp();
  override(app, Registration.fromValue(pool).to('IDatabasePool'));
  override(app, Registration.fromValue(bank).to('IBank'));
  return {
    app,
    bank,
    stored: () => pool.query<{ id: string; amount: number }>('SELECT id, amount FROM payments ORDER BY id'),
    expectNoOpenScopes: () => expectNoOpenScopes(app),
    openScopes: () => openScopes(app).length,
  };
}

function withResolver(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve: () => resolve() };
}
