import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serve, stop } from '../graphql-yoga-server.js';
import { scopeClosed } from '../../test/support/application.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';

const pay = 'mutation { pay(id: "coffee", amount: 4) }';
const stored = [{ id: 'coffee', amount: 4 }];

describe('graphql-yoga-server', () => {
  let payments: PaymentsApp;
  let server: Server;

  beforeEach(async () => {
    payments = await paymentsApp();
    server = serve(payments.app, 0);
    await once(server, 'listening');
  });

  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  const post = (query: string, signal?: AbortSignal, accept = 'application/json'): Promise<Response> =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`, {
      method: 'POST',
      body: JSON.stringify({ query }),
      headers: { 'content-type': 'application/json', accept },
      signal: signal ?? null,
    });
  const execute = async (query: string): Promise<unknown> => (await post(query)).json();

  it('runs a mutation in a scope and a transaction, which the next query sees', async () => {
    expect(await execute(pay)).toEqual({ data: { pay: true } });
    expect(await execute('{ payments { id amount } }')).toEqual({ data: { payments: stored } });
    payments.expectNoOpenScopes();
  });

  it('disposes the scope of a mutation that fails, and stores nothing of it', async () => {
    payments.bank.failOnce();
    expect(await execute(pay)).toMatchObject({ errors: [{ path: ['pay'] }] });
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('opens no scope for what is no valid operation', async () => {
    expect(await execute('{ nothing }')).toMatchObject({ errors: [{}] });
    payments.expectNoOpenScopes();
  });

  it('cancels the operation of a client that disconnects', async () => {
    const { reached } = payments.bank.holdOnce();
    const client = new AbortController();
    const response = post(pay, client.signal);
    await reached;
    const closed = scopeClosed(payments.app);
    client.abort();
    await expect(response).rejects.toThrow('aborted');
    await closed;
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  const subscribe = (from: number, signal?: AbortSignal): Promise<Response> =>
    post(`subscription { countdown(from: ${from}) }`, signal, 'text/event-stream');

  it('keeps the scope of a subscription open until its stream ends', async () => {
    const closed = scopeClosed(payments.app);
    const response = await subscribe(2);
    expect(payments.openScopes()).toBe(1);
    expect(await response.text()).toMatch(/countdown":2[^]*countdown":1[^]*event: complete/);
    await closed;
    payments.expectNoOpenScopes();
  });

  it('disposes the scope of a subscription whose client leaves', async () => {
    const client = new AbortController();
    const response = await subscribe(1e9, client.signal);
    const closed = scopeClosed(payments.app);
    client.abort();
    await closed;
    expect(response.ok).toBe(true);
    payments.expectNoOpenScopes();
  });

  it('finishes the operation in progress at shutdown, and its client gets the response', async () => {
    const { reached, release } = payments.bank.holdOnce();
    const response = execute(pay);
    await reached;
    const stopped = stop(server, payments.app);
    release();
    expect(await response).toEqual({ data: { pay: true } });
    await stopped;
    expect(await payments.stored()).toEqual(stored);
    payments.expectNoOpenScopes();
  });

  it('aborts the operations and subscriptions that take too long at shutdown', async () => {
    const { reached } = payments.bank.holdOnce();
    const operation = execute(pay);
    await reached;
    const subscription = await subscribe(1e9);
    const read = subscription.text().catch(() => 'cut');
    await stop(server, payments.app, 0);
    expect(await operation).toMatchObject({ errors: [{}] });
    await read;
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });
});
