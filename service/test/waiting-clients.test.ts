import { once } from 'node:events';
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { urlOf } from '../src/hosts/host.js';
import { acceptWaitingClients } from '../src/http/accept-waiting-clients.js';

const here = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));

describe('who waits for the clients at the door', () => {
  test.each(['127.0.0.1', '::1'].filter((host) => here.includes(host)))('asks at %s as they do', async (host) => {
    const asked: unknown[] = [];
    const server = createServer(({ url }, res) => {
      asked.push(url);
      res.end();
    });
    await once(server.listen(0, host), 'listening');
    await acceptWaitingClients(urlOf(server));
    expect(asked).toEqual(['/health/live']);
    server.close();
  });

  test('does not mind that nobody answers, at an address of one link either', async () => {
    for (const url of ['http://127.0.0.1:1', 'http://[fe80::1%nowhere]:1'])
      await expect(acceptWaitingClients(url)).resolves.toBeUndefined();
  });
});
