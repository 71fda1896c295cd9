import {
  credentials,
  type Client,
  type ClientReadableStream,
  type Server,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PaymentsClient, serve, stop } from '../grpc-server.js';
import type { Payment } from '../payments.js';
import { scopeClosed } from '../../test/support/application.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';

type Respond = (error: ServiceError | null, receipt?: { id: string }) => void;
interface Payments extends Client {
  Pay(payment: Payment, options: { deadline?: number }, respond: Respond): { cancel(): void };
  List(request: object): ClientReadableStream<Payment>;
}

const coffee = { id: 'coffee', amount: 4 };

describe('grpc-server', () => {
  let payments: PaymentsApp;
  let server: Server;
  let client: Payments;

  beforeEach(async () => {
    payments = await paymentsApp();
    const serving = await serve(payments.app, 0);
    server = serving.server;
    client = new PaymentsClient(`127.0.0.1:${serving.port}`, credentials.createInsecure()) as unknown as Payments;
  });

  afterEach(() => {
    client.close();
    server.forceShutdown();
  });

  /** A call, and what it comes to: the receipt or the error. */
  function pay(payment: Payment, options = {}): { cancel(): void; readonly outcome: Promise<unknown> } {
    let settle!: (outcome: unknown) => void;
    const outcome = new Promise((resolve) => (settle = resolve));
    const call = client.Pay(payment, options, (error, receipt) => settle(error ?? receipt));
    return { cancel: () => call.cancel(), outcome };
  }

  it('runs a unary call in a scope and a transaction', async () => {
    expect(await pay(coffee).outcome).toEqual({ id: 'coffee' });
    expect(await payments.stored()).toEqual([coffee]);
    payments.expectNoOpenScopes();
  });

  it('disposes the scope of a call that fails, and stores nothing of it', async () => {
    payments.bank.failOnce();
    expect(await pay(coffee).outcome).toMatchObject({ code: status.INTERNAL, details: 'The bank is closed' });
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it.each(['its client', 'its deadline'])('cancels the work of a call that is cancelled by %s', async (by) => {
    const { reached } = payments.bank.holdOnce();
    const closed = scopeClosed(payments.app);
    const call = pay(coffee, by === 'its deadline' ? { deadline: Date.now() + 2000 } : {});
    await reached;
    if (by === 'its client') call.cancel();
    const code = by === 'its client' ? status.CANCELLED : status.DEADLINE_EXCEEDED;
    expect(await call.outcome).toMatchObject({ code });
    await closed;
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('keeps the scope of a streaming call open until the stream ends', async () => {
    await pay(coffee).outcome;
    await pay({ id: 'cake', amount: 5 }).outcome;
    const closed = scopeClosed(payments.app);
    const listed: Payment[] = [];
    for await (const payment of client.List({})) listed.push(payment as Payment);
    await closed;
    expect(listed).toEqual([{ id: 'cake', amount: 5 }, coffee]);
    payments.expectNoOpenScopes();
  });

  it('waits for a slow reader of a stream, and disposes the scope when that cancels', async () => {
    const connection = payments.app.resolve('IDatabasePool');
    await connection.query(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO payments SELECT 'payment number ' || i, 1 FROM n",
    );
    const stream = client.List({});
    stream.on('error', () => undefined);
    await new Promise((resolve) => stream.once('data', resolve));
    stream.pause();
    expect(payments.openScopes()).toBe(1);
    const closed = scopeClosed(payments.app);
    stream.cancel();
    await closed;
    payments.expectNoOpenScopes();
  });

  it('finishes the call in progress at shutdown, and its client gets the response', async () => {
    const { reached, release } = payments.bank.holdOnce();
    const { outcome } = pay(coffee);
    await reached;
    const stopped = stop(server, payments.app);
    release();
    expect(await outcome).toEqual({ id: 'coffee' });
    await stopped;
    expect(await payments.stored()).toEqual([coffee]);
    payments.expectNoOpenScopes();
  });

  it('aborts a call that takes too long at shutdown', async () => {
    const { reached } = payments.bank.holdOnce();
    const { outcome } = pay(coffee);
    await reached;
    await stop(server, payments.app, 0);
    expect(await outcome).toBeInstanceOf(Error);
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });
});
