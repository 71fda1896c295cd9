import {
  ADA,
  ADDRESSES,
  APPLE,
  BODIES,
  head,
  HEADERS,
  MEDIA_TYPES,
  postOrder,
  postUser,
  PROTOCOL,
} from '../../service/test/odd-requests.js';
import { afterAll, it } from 'vitest';
import { type Conversation, mustBeAlike, Stage } from './connections.js';
import { mustHoldForAll, mustHold } from './texts.js';

const DICTIONARY = [
  'GET ',
  'HEAD ',
  'POST ',
  'PUT ',
  'PATCH ',
  'DELETE ',
  'OPTIONS ',
  'TRACE ',
  'QUERY ',
  ' HTTP/1.1\r\n',
  ' HTTP/1.0\r\n',
  '\r\n',
  '\r\n\r\n',
  '\n',
  '\r',
  '/api/users',
  '/api/orders',
  '/health/live',
  '/health/ready',
  '/openapi.json',
  '/docs',
  '/metrics',
  '?limit=1',
  '&after=',
  '%2F',
  '%75',
  '/../',
  '//',
  '#',
  'host: test\r\n',
  'content-length: 0\r\n',
  'content-length: ?\r\n',
  'content-length: ',
  'transfer-encoding: chunked\r\n',
  '0\r\n\r\n',
  '1\r\n',
  ';a=b',
  'trailer: a\r\n',
  'content-type: application/json\r\n',
  'charset=utf-8',
  'content-encoding: identity\r\n',
  'connection: close\r\n',
  'connection: keep-alive\r\n',
  'connection: upgrade\r\nupgrade: websocket\r\n',
  'expect: 100-continue\r\n',
  'expect: x\r\n',
  'idempotency-key: a\r\n',
  'idempotency-key: "a"\r\n',
  'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n',
  'cookie: read-after=0/1\r\n',
  'x-user-id: ada\r\n',
  'x-request-id: 1\r\n',
  'x-forwarded-for: 1.2.3.4\r\n',
  'range: bytes=0-0\r\n',
  'if-none-match: *\r\n',
  'accept-encoding: gzip\r\n',
  ' folded\r\n',
  '\tfolded\r\n',
  ADA,
  APPLE,
];

const JSON_TYPE = { 'content-type': 'application/json' };
const LONGEST_SEED = 1000;

const express = await Stage.open('express', { DATA_DIR: ':memory:' });
const fastify = await Stage.open('fastify', { DATA_DIR: ':memory:' });
afterAll(() => Promise.all([express.app.stop(), fastify.app.stop()]));

const odd = [ADDRESSES, BODIES, HEADERS, MEDIA_TYPES, PROTOCOL].flat().map(([, bytes]) => Buffer.from(bytes));
const keyed = postOrder(APPLE, { ...JSON_TYPE, 'idempotency-key': 'a' });
const pipelined = [
  Buffer.from(head('GET', '/api/users') + head('HEAD', '/api/users') + head('GET', '/nowhere')),
  Buffer.concat([postUser(ADA), postOrder(APPLE)]),
  Buffer.concat([keyed, keyed]),
];
const bodies = [postUser(ADA), postOrder(APPLE), keyed].map((bytes) =>
  bytes.toString('latin1').replace(/(?<=content-length: )\d+/, '?'),
);
const seeds = [
  head('GET', '/api/users'),
  ...[...odd.filter(({ length }) => length <= LONGEST_SEED), ...pipelined].map((bytes) => bytes.toString('latin1')),
  ...bodies,
];

it('both hosts respond alike, each response is in its place, and a malformed head is refused', () =>
  mustHoldForAll({ dictionary: DICTIONARY, seeds, maxLength: 1500 }, async (text) => {
    const bytes = framed(Buffer.from(text, 'latin1'));
    await Promise.all([express.clear(), fastify.clear()]);
    const [onExpress, onFastify] = await Promise.all([express.converse(bytes), fastify.converse(bytes)]);
    mustBeAlike(onExpress, onFastify);
    mustRefuseBadHead(bytes, onExpress);
  }));

/** `Content-Length: ?` is the length of what follows, which no change of the body makes wrong. */
function framed(input: Buffer): Buffer {
  const text = input.toString('latin1');
  const [before, after] = text.split(/(?<=\r\ncontent-length: )\?(?=\r\n)/i, 2);
  const end = after?.indexOf('\r\n\r\n') ?? -1;
  if (before === undefined || after === undefined || end === -1) return input;
  return Buffer.from(`${before}${after.length - end - 4}${after}`, 'latin1');
}

const HEAD = /^[A-Z]+ [^ \r\n]+ HTTP\/1\.1\r\n((?:[^\r\n]+\r\n)*)\r\n/;
/** A token of RFC 9110, a colon and a value; none is continued in the next line. */
const FIELD = /^[\w!#$%&'*+.^`|~-]+:[\t\u0020-\u007e\u0080-\u00ff]*$/;

function mustRefuseBadHead(input: Buffer, { responses }: Conversation): void {
  const [, fields] = HEAD.exec(input.toString('latin1')) ?? [];
  if (
    fields === undefined ||
    fields
      .split('\r\n')
      .slice(0, -1)
      .every((field) => FIELD.test(field))
  )
    return;
  const [{ status } = { status: 0 }] = responses;
  mustHold(status === 400, 'a malformed head is not refused', () => ({ fields, status }));
}
