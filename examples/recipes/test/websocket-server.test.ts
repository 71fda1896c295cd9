import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { PaymentSockets } from '../websocket-server.js';
import { scopeClosed } from '../../test/support/application.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';

const coffee = { id: 'coffee', amount: 4 };

describe('websocket-server', () => {
  let payments: PaymentsApp;
  let sockets: PaymentSockets;
  let client: WebSocket;

  beforeEach(async () => {
    payments = await paymentsApp();
    sockets = new PaymentSockets(payments.app, 0);
    await once(sockets.server, 'listening');
    client = new WebSocket(`ws://127.0.0.1:${(sockets.server.address() as AddressInfo).port}/till`);
    await once(client, 'open');
  });

  afterEach(() => {
    client.terminate();
    for (const socket of sockets.server.clients) socket.terminate();
    sockets.server.close();
  });

  const send = (message: unknown): void => client.send(JSON.stringify(message));
  const response = async (): Promise<unknown> => JSON.parse(String((await once(client, 'message'))[0]));

  it('has one scope per connection, and one below it per message', async () => {
    expect(payments.openScopes()).toBe(1);
    const { reached, release } = payments.bank.holdOnce();
    send(coffee);
    await reached;
    expect(payments.openScopes()).toBe(2);
    release();
    expect(await response()).toEqual({ paid: true });
    expect(payments.openScopes()).toBe(1);
    expect(await payments.stored()).toEqual([coffee]);
  });

  it('disposes the scope of the connection when the client leaves', async () => {
    const closed = scopeClosed(payments.app);
    client.close();
    await closed;
    expect(payments.openScopes()).toBe(0);
  });

  it('tells the client of a message that failed, stores nothing of it, and takes the next one', async () => {
    payments.bank.failOnce();
    send(coffee);
    expect(await response()).toEqual({ error: 'The bank is closed' });
    expect([payments.openScopes(), await payments.stored()]).toEqual([1, []]);
    send(coffee);
    expect(await response()).toEqual({ paid: true });
  });

  it('refuses what is no JSON', async () => {
    client.send('{');
    expect(await response()).toMatchObject({ error: expect.stringContaining('JSON') });
    expect(payments.openScopes()).toBe(1);
  });

  it('cancels the message of a client that disconnects', async () => {
    const { reached } = payments.bank.holdOnce();
    send(coffee);
    await reached;
    const closed = scopeClosed(payments.app);
    client.terminate();
    await closed;
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('finishes the message in progress at shutdown, refuses further ones, and then closes with 1001', async () => {
    const { reached, release } = payments.bank.holdOnce();
    send(coffee);
    await reached;
    const [stopped, closed] = [sockets.stop(), once(client, 'close')];
    send({ id: 'cake', amount: 5 });
    expect(await response()).toMatchObject({ error: expect.stringContaining('AMBIT_DRAINING') });
    release();
    expect(await response()).toEqual({ paid: true });
    expect((await closed)[0]).toBe(1001);
    await stopped;
    expect(await payments.stored()).toEqual([coffee]);
    payments.expectNoOpenScopes();
  });

  it('aborts a message that takes too long at shutdown', async () => {
    const { reached } = payments.bank.holdOnce();
    send(coffee);
    await reached;
    const [stopped, last] = [sockets.stop(0), response()];
    expect(await last).toMatchObject({ error: expect.stringContaining('AMBIT_DRAIN_TIMEOUT') });
    await stopped;
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('is not kept from stopping by a client that does not close its side', async () => {
    client.pause();
    await sockets.stop();
    expect(payments.openScopes()).toBe(0);
  });
});
