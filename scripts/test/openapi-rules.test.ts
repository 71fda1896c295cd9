import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { brokenRulesOf } from '../openapi-rules.mjs';

const root = new URL('../../', import.meta.url);
const readJson = (path: string): Record<string, any> =>
  JSON.parse(readFileSync(new URL(path, root), 'utf8')) as Record<string, any>;

const { version } = readJson('service/package.json') as { version: string };

/** What the rules say of the document after a change. */
function afterwards(change: (document: Record<string, any>) => void): string[] {
  const document = readJson('docs/openapi.json');
  change(document);
  return brokenRulesOf(document, version);
}

describe('the rules for the OpenAPI document', () => {
  test('are kept', () => {
    expect(afterwards(() => {})).toEqual([]);
  });

  test('the service has the version of the packages', () => {
    expect(version).toBe(readJson('packages/container/package.json')['version']);
  });

  test.each<[string, (document: Record<string, any>) => void]>([
    [`info.version is 9.9.9, but that of the package is ${version}`, ({ info }) => (info.version = '9.9.9')],
    [
      '/components/schemas/User/properties/email has no description',
      ({ components }) => delete components.schemas.User.properties.email.description,
    ],
    [
      '/paths//health/live/get/responses/200/content/application/json/schema/properties/status has no description',
      ({ paths }) => {
        const [content] = Object.values<any>(paths['/health/live'].get.responses['200'].content);
        delete content.schema.properties.status.description;
      },
    ],
    [
      '/components/parameters/limit has no description',
      ({ components }) => (components.parameters.limit.description = ' '),
    ],
    [
      '/paths//api/orders/post/requestBody/content/application/json/examples/fruit has no summary',
      ({ paths }) => delete paths['/api/orders'].post.requestBody.content['application/json'].examples.fruit.summary,
    ],
    [
      'POST /api/orders does not list 401, which `identify` may send',
      ({ paths }) => delete paths['/api/orders'].post.responses['401'],
    ],
    [
      'POST /api/orders lists 405, which is about other methods: info.description says it once',
      ({ paths }) => (paths['/api/orders'].post.responses['405'] = { description: 'Another method.' }),
    ],
    [
      'GET /api/users/{id} cannot be tried: its parameter id has no example, and no link fills it',
      ({ paths }) => {
        delete paths['/api/users'].get.responses['200'].links;
        delete paths['/api/users'].post.responses['201'].links;
      },
    ],
  ])('%s', (problem, change) => {
    expect(afterwards(change)).toEqual([problem]);
  });
});
