import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Container } from '@ambit/container';
import { openScopes } from '@ambit/container/tools';
import { expect, test } from 'vitest';
import { ConnectedRequest, RequestHost } from '../src/node.js';

test.each(['leave', 'disconnect'] as const)('%s() completes a request on its connection, once', async (method) => {
  const app = new Container({ tags: ['application'] });
  const host = RequestHost.over(app, {}, 'test()');
  const completed: unknown[] = [];
  const server = createServer((req, res) => {
    const request = new ConnectedRequest(req, res, host);
    request.onCompleted(() => completed.push(request.isOut));
    request.open(() => {
      const { signal } = request;
      request[method]();
      const { reason } = signal;
      request[method]();
      request.complete(true);
      completed.push(signal.aborted, signal.reason === reason, request.disconnectReason === reason);
      completed.push(ConnectedRequest.ofResponse(req, res));
      res.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(completed).toEqual([true, true, true, true, undefined]);
  expect(openScopes(app)).toEqual([]);
  server.close();
});
