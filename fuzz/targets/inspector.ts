import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Container } from '@ambit/container';
import { containerMiddleware } from '@ambit/express';
import { readResponse } from '@ambit/host-contract';
import { inspectorMiddleware } from '@ambit/inspector/express';
import express from 'express';
import { exchange } from '../connections.js';
import { mustHold, type Target } from '../target.js';

const DICTIONARY = [
  'GET ',
  'HEAD ',
  'POST ',
  'PUT ',
  '/inspector',
  '/inspector/',
  'events',
  'graph',
  'explain?node=',
  'requests/',
  'requests/1',
  'login',
  'assets/',
  'index.html',
  'main.js',
  '../',
  '%2e%2e/',
  '%2f',
  '%00',
  '%ff',
  '%',
  '?',
  '#',
  '//',
  '/a',
  'constructor',
  '__proto__',
  'application',
  ' HTTP/1.1\r\n',
  ' HTTP/1.0\r\n',
  '\r\n',
  '\r\n\r\n',
  'host: localhost\r\n',
  'host: example.org\r\n',
  'authorization: Bearer a\r\n',
  'cookie: ambit_inspector=1.a\r\n',
  'accept-encoding: gzip\r\n',
  'x-forwarded-for: a\r\n',
  'content-length: 7\r\n',
  'transfer-encoding: chunked\r\n',
  'token=a',
  'sec-fetch-site: cross-site\r\n',
  'sec-fetch-mode: navigate\r\n',
  'last-event-id: 1\r\n',
];
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
const SEEDS = [
  ...[
    '/inspector',
    '/inspector/',
    '/inspector/graph',
    '/inspector/explain?node=a',
    '/inspector/requests/1',
    '/inspector/assets/main.js',
    '/a',
  ].map(get),
  'POST /inspector/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 7\r\n\r\ntoken=a',
];
const PROBE = Buffer.from('GET /a HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
/** What the pages of the inspector have, and all that it may give away. */
const TYPES = /^(?:text\/(?:css|html|javascript|plain|event-stream)|application\/json|image\/svg\+xml)\b/;

/** The page on an Express application, open to this machine. */
export async function open(): Promise<Target> {
  process.env['NODE_ENV'] ??= 'test';
  const container = new Container({ tags: ['application'] });
  const app = express();
  app.use(inspectorMiddleware({ container, scopes: { tags: ['request'] }, enabled: true }));
  app.use(containerMiddleware(container));
  app.get('/a', (_req, res) => void res.json({}));
  const server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as AddressInfo;

  return {
    dictionary: DICTIONARY,
    maxLength: 800,
    seeds: SEEDS.map((text) => Buffer.from(text)),
    async run(input) {
      const received = await exchange(port, Buffer.concat([input, PROBE]));
      return statusesIn(received, input.toString('latin1'));
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await container.dispose();
    },
  };
}

function statusesIn(received: Buffer, input: string): string[] {
  const statuses: string[] = [];
  const heads = received.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) [^]*?\r\n\r\n/g);
  for (const { 0: head, 1: status, index } of heads) {
    const read = readResponse(received.subarray(index), { toHead: true, noMoreWillCome: true });
    const { headers = {} } = read?.response ?? {};
    const show = () => ({ head, input });
    // 503: so many pages are open.
    mustHold(Number(status) < 500 || status === '503', 'the inspector fails', show);
    const isOurs = headers['content-security-policy'] !== undefined;
    mustHold(
      !isOurs || status === '303' || TYPES.test(headers['content-type'] ?? ''),
      'the inspector sends something else than its pages',
      show,
    );
    statuses.push(`${status} ${isOurs} ${headers['content-type']}`);
  }
  return statuses;
}
