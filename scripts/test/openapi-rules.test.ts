import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { brokenRulesOf } from '../openapi-rules.mjs';

type Part = Record<string, unknown>;

const readJson = (path: string): Part =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')) as Part;

const version = String(readJson('service/package.json')['version']);
const content = ['content', 'application/json'];
const order = ['paths', '/api/orders', 'post'];
const live = ['paths', '/health/live', 'get', 'responses', '200'];

/** The document with other values at these places; undefined removes what is there. */
function documentWith(changes: readonly (readonly [place: readonly string[], value: unknown])[]): Part {
  const document = readJson('docs/openapi.json');
  for (const [place, value] of changes) {
    const parent = place.slice(0, -1).reduce((part, step) => part[step] as Part, document);
    const name = place.at(-1) ?? '';
    if (value === undefined && !(name in parent)) throw new Error(`The document has no ${place.join('/')}`);
    if (value === undefined) delete parent[name];
    else parent[name] = value;
  }
  return document;
}

describe('the rules for the OpenAPI document', () => {
  test('are kept', () => {
    expect(brokenRulesOf(documentWith([]), version)).toEqual([]);
  });

  test.each<[string, ...(readonly [place: readonly string[], value: unknown])[]]>([
    [`info.version is 9.9.9, but that of the package is ${version}`, [['info', 'version'], '9.9.9']],
    [
      '/components/schemas/User/properties/email has no description',
      [['components', 'schemas', 'User', 'properties', 'email', 'description'], undefined],
    ],
    [
      '/paths//health/live/get/responses/200/content/application/json/schema/properties/status has no description',
      [[...live, ...content, 'schema', 'properties', 'status', 'description'], undefined],
    ],
    ['/components/parameters/limit has no description', [['components', 'parameters', 'limit', 'description'], ' ']],
    [
      '/paths//api/orders/post/requestBody/content/application/json/examples/fruit has no summary',
      [[...order, 'requestBody', ...content, 'examples', 'fruit', 'summary'], undefined],
    ],
    ['POST /api/orders does not list 401, which `identify` may send', [[...order, 'responses', '401'], undefined]],
    [
      'POST /api/orders lists 405, which is about other methods: info.description says it once',
      [[...order, 'responses', '405'], { description: 'Another method.' }],
    ],
    [
      'GET /api/users/{id} cannot be tried: its parameter id has no example, and no link fills it',
      [['paths', '/api/users', 'get', 'responses', '200', 'links'], undefined],
      [['paths', '/api/users', 'post', 'responses', '201', 'links'], undefined],
    ],
  ])('%s', (problem, ...changes) => {
    expect(brokenRulesOf(documentWith(changes), version)).toEqual([problem]);
  });
});
