import { once } from 'node:events';
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { urlOf } from '../src/hosts/host.js';
import { acceptWaitingClients } from '../src/http/server.js';

const here = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));

describe('acceptWaitingClients()', () => {
  test.each(['127.0.0.1', '::1'].filter((host) => here.includes(host)))(
    'sends a request of its own to %s',
    async (host) => {
      const asked: unknown[] = [];
      const server = createServer(({ url }, res) => {
        asked.push(url);
        res.end();
      });
      await once(server.listen(0, host), 'listening');
      await acceptWaitingClients(urlOf(server));
      expect(asked).toEqual(['/health/live']);
      server.close();
    },
  );

  test('resolves when nobody responds, also at a link-local address', async () => {
    for (const url of ['http://127.0.0.1:1', 'http://[fe80::1%nowhere]:1'])
      await expect(acceptWaitingClients(url)).resolves.toBeUndefined();
  });
});
