import { describe, expect, it } from 'vitest';
import { readRequest, writeRequest } from '../../page/requests/request-file.js';
import { curlSkeleton, requestText } from '../../page/requests/request-data.js';
import type { RequestDetails } from '../../src/wire.js';
import { details, statement } from '../support/requests.js';

const request = details({
  requestId: 'req-42',
  outcome: 'rolled back',
  leaks: 1,
  statements: 2,
  spans: [{ box: 'application > request', opened: 0.1, closed: 4, where: ['place (src/orders.ts:42:7)'] }],
  steps: [
    { kind: 'arrived', at: 0 },
    { kind: 'failed', at: 1, span: 0, key: 'IPool', path: ['IOrders', 'IPool'], error: 'TypeError E_POOL' },
    statement('SELECT ?', { span: 0, outside: true, where: 'src/orders.ts:7:1' }),
    statement('SELECT ?', { span: 0 }),
    { kind: 'line', at: 3, line: { source: 'log', level: 'info', text: 'listed' } },
    { kind: 'responded', at: 4 },
  ],
});
const file = (change: (file: { request: Record<string, unknown> } & Record<string, unknown>) => void): string => {
  const content = JSON.parse(writeRequest(request, 'boot-1')) as { request: Record<string, unknown> };
  change(content);
  return JSON.stringify(content);
};

describe('a file with a request', () => {
  it('is read as it was written', () => {
    expect(readRequest(writeRequest(request, 'boot-1'))).toEqual({ request });
  });

  it('loses what nobody knows, and indexes of names of another recording', () => {
    const content = file(({ request: inner }) => Object.assign(inner, { onload: 'x', texts: [1], keys: [2] }));
    expect(readRequest(content)).toEqual({ request });
  });

  it.for<[string, string, RegExp]>([
    ['no JSON', 'GET /', /is not JSON/],
    ['another JSON', '{"name":"x"}', /not a request of the inspector/],
    ['a list', '[]', /must be an object/],
    ['another version', file((content) => (content['version'] = 2)), /another version/],
    ['no route', file(({ request: inner }) => delete inner['route']), /“route” must be a text/],
    [
      'a duration that is none',
      file(({ request: inner }) => (inner['milliseconds'] = '5')),
      /“milliseconds” must be a number/,
    ],
    ['a negative time', file(({ request: inner }) => (inner['steps'] = [{ kind: 'arrived', at: -1 }])), /“at” must be/],
    [
      'a step nobody knows',
      file(({ request: inner }) => (inner['steps'] = [{ kind: 'script', at: 0 }])),
      /“kind” must be one of arrived/,
    ],
    ['a span that is missing', file(({ request: inner }) => (inner['spans'] = [])), /There is no span 0/],
    ['too much', ' '.repeat(5_000_001), /too long/],
  ])('is refused kindly with %s', ([, content, message]) => {
    expect(readRequest(content)).toMatchObject({ problem: expect.stringMatching(message) as string });
  });
});

describe('a request as text', () => {
  it('says what happened, in order', () => {
    const text = requestText(request, 'boot-1');
    expect(text).toContain('GET /api/users/:id\n200, 5.0 ms, rolled back, boot-1\n');
    expect(text).toContain('A request scope leaked, opened at place (src/orders.ts:42:7)');
    expect(text).toContain('  2x 2.0 ms  SELECT ?');
    expect(text).toContain('failed IOrders -> IPool TypeError E_POOL');
    expect(text).toContain('statement (outside of a transaction) SELECT ? [1.0 ms] at src/orders.ts:7:1');
    expect(text).toContain('log info: listed');
    expect(text).toContain('responded 200');
  });
});

describe('a request as curl', () => {
  const curl = (given: Partial<RequestDetails>): string => curlSkeleton(details(given), 'http://localhost:3000');

  it('has the declared route, and no value', () => {
    expect(curl({})).toBe("curl 'http://localhost:3000/api/users/:id'");
    expect(curl({ method: 'POST' })).toBe(
      "curl -X POST -H 'content-type: application/json' -d '{}' 'http://localhost:3000/api/users/:id'",
    );
  });

  it('is one word for the shell, whatever the route is', () => {
    expect(curl({ route: "/it's/$(x)" })).toBe(String.raw`curl 'http://localhost:3000/it'\''s/$(x)'`);
  });
});
