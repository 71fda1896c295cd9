import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { SpanStatusCode } from '@opentelemetry/api';
import { Container, type IContainer, hasTag, Registration, scope, singleton } from '@ambit/container';
import { runInTransaction } from '@ambit/transaction';
import { beginTransaction } from '@ambit/transaction/host';
import { FakePool } from '@ambit/transaction/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Instrumentation, instrument } from '../src/index.js';
import { Telemetry } from './support/telemetry.js';

class Ledger {
  dispose(): Promise<void> | void {
    throw new Error('did not end');
  }
}

class EndlessLedger extends Ledger {
  override dispose(): Promise<void> {
    return new Promise(() => undefined);
  }
}

const quiet = { onError: () => undefined };

let telemetry: Telemetry;
let instrumentation: Instrumentation;

beforeEach(() => {
  telemetry = new Telemetry();
  instrumentation = instrument(telemetry.providers);
});

afterEach(async () => {
  vi.useRealTimers();
  instrumentation.stop();
  await telemetry.shutdown();
});

/** An application whose transactions each have such a ledger. */
function open(kind: typeof Ledger): Container {
  return new Container({ tags: ['application'] }).addRegistration(
    Registration.fromClass(kind, [])
      .pipe(singleton(), scope(hasTag('transaction')))
      .to(Ledger),
    Registration.fromValue(new FakePool()).to('IDatabasePool'),
  );
}

describe('an instance of a transaction scope that fails to dispose', () => {
  const failed = { name: 'transaction', ended: true, status: { code: SpanStatusCode.ERROR } };

  it('marks the span of the transaction, which was committed before, and is counted by its class', async () => {
    await runInTransaction(open(Ledger), async (transaction) => void transaction.resolve(Ledger), quiet);

    expect(telemetry.spans).toMatchObject([
      { ...failed, attributes: { 'ambit.transaction.outcome': 'committed', 'ambit.key': 'Ledger' } },
    ]);
    expect(await telemetry.values('ambit.instance.disposal_failures')).toEqual([
      { attributes: { 'ambit.key': 'Ledger' }, value: 1 },
    ]);
  });

  it('marks it also when the application disposes the scope', async () => {
    const transaction = await beginTransaction(open(Ledger), quiet);
    transaction.scope.resolve(Ledger);

    await Promise.resolve(transaction.scope.dispose()).catch(() => undefined);

    expect(telemetry.spans).toMatchObject([
      { ...failed, attributes: { 'ambit.transaction.outcome': 'rolled back', 'ambit.key': 'Ledger' } },
    ]);
  });

  it('does not keep the span open forever when the disposer never settles', async () => {
    vi.useFakeTimers();
    const options = { ...quiet, endTimeoutMs: 10 };
    await runInTransaction(open(EndlessLedger), async (transaction) => void transaction.resolve(Ledger), options);

    vi.advanceTimersByTime(60_000);

    expect(telemetry.span('transaction')?.attributes).toMatchObject({ 'ambit.transaction.outcome': 'committed' });
  });
});

describe('the span of a transaction', () => {
  it('has the outcome also when its scope was disposed before BEGIN', async () => {
    const acquired = 'ambit:transaction:acquired';
    const disposeScope = (message: unknown): void => void (message as { scope: Container }).scope.dispose();
    subscribe(acquired, disposeScope);

    await beginTransaction(open(Ledger), quiet).catch(() => undefined);

    unsubscribe(acquired, disposeScope);
    expect(telemetry.span('transaction')?.attributes).toMatchObject({ 'ambit.transaction.outcome': 'rolled back' });
  });

  it('ends with the transaction in a container that publishes nothing about its scopes', async () => {
    const pool = new FakePool();
    const silent = (): IContainer => ({
      resolve: () => pool as never,
      register: () => undefined,
      createScope: silent,
      dispose: () => undefined,
    });
    await runInTransaction(silent(), async () => undefined, quiet);

    expect(telemetry.span('transaction')?.attributes).toMatchObject({ 'ambit.transaction.outcome': 'committed' });
  });
});
