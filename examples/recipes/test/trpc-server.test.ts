import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTRPCClient, httpBatchLink, type TRPCClient } from '@trpc/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Router, serve, stop } from '../trpc-server.js';
import { scopeClosed } from '../../test/support/application.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';

const coffee = { id: 'coffee', amount: 4 };

describe('trpc-server', () => {
  let payments: PaymentsApp;
  let server: Server;
  let url: string;
  let client: TRPCClient<Router>;

  beforeEach(async () => {
    payments = await paymentsApp();
    server = serve(payments.app, 0);
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = createTRPCClient<Router>({ links: [httpBatchLink({ url })] });
  });

  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  const subscribe = (from: number, signal?: AbortSignal): Promise<Response> =>
    fetch(`${url}/countdown?input=${from}`, { headers: { accept: 'text/event-stream' }, ...(signal && { signal }) });

  it('runs a mutation in a scope and a transaction, which the next query sees', async () => {
    await client.pay.mutate(coffee);
    expect(await client.payments.query()).toEqual([coffee]);
    payments.expectNoOpenScopes();
  });

  it('has a scope for each call of one batch', async () => {
    const [first, second] = [payments.bank.holdOnce(), payments.bank.holdOnce()];
    const batch = Promise.all([client.pay.mutate(coffee), client.pay.mutate({ id: 'cake', amount: 5 })]);
    await Promise.all([first.reached, second.reached]);
    expect(payments.openScopes()).toBe(2);
    first.release();
    second.release();
    await batch;
    expect(await payments.stored()).toEqual([{ id: 'cake', amount: 5 }, coffee]);
    payments.expectNoOpenScopes();
  });

  it('disposes the scope of a call that fails, and stores nothing of it', async () => {
    payments.bank.failOnce();
    await expect(client.pay.mutate(coffee)).rejects.toThrow('The bank is closed');
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('cancels the call of a client that disconnects', async () => {
    const { reached } = payments.bank.holdOnce();
    const leaving = new AbortController();
    const call = client.pay.mutate(coffee, { signal: leaving.signal });
    await reached;
    const closed = scopeClosed(payments.app);
    leaving.abort();
    await expect(call).rejects.toThrow('aborted');
    await closed;
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('keeps the scope of a subscription open until its stream ends', async () => {
    const closed = scopeClosed(payments.app);
    const response = await subscribe(2);
    expect(payments.openScopes()).toBe(1);
    expect(await response.text()).toMatch(/data: 2[^]*data: 1[^]*event: return/);
    await closed;
    payments.expectNoOpenScopes();
  });

  it('disposes the scope of a subscription whose client leaves', async () => {
    const leaving = new AbortController();
    const response = await subscribe(1e9, leaving.signal);
    expect(payments.openScopes()).toBe(1);
    const closed = scopeClosed(payments.app);
    leaving.abort();
    await closed;
    expect(response.ok).toBe(true);
    payments.expectNoOpenScopes();
  });

  it('finishes the call in progress at shutdown, and its client gets the response', async () => {
    const { reached, release } = payments.bank.holdOnce();
    const call = client.pay.mutate(coffee);
    await reached;
    const stopped = stop(server, payments.app);
    release();
    await call;
    await stopped;
    expect(await payments.stored()).toEqual([coffee]);
    payments.expectNoOpenScopes();
  });

  it('aborts the calls and subscriptions that take too long at shutdown', async () => {
    const { reached } = payments.bank.holdOnce();
    const call = client.pay.mutate(coffee).catch((error: unknown) => error);
    await reached;
    const read = subscribe(1e9)
      .then((response) => response.text())
      .catch(() => 'cut');
    await stop(server, payments.app, 0);
    expect(await call).toBeInstanceOf(Error);
    await read;
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });
});
