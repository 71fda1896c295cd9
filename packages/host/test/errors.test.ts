import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { HTTP_ERROR_CODES, HttpError } from '../src/index.js';

test('the README lists every code', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const listed = [...readme.matchAll(/^\| `(AMBIT_HTTP_\w+)`/gm)].map(([, code]) => code);
  expect(listed).toEqual([...HTTP_ERROR_CODES]);
});

test.each(HTTP_ERROR_CODES)('%s has a message of its own, a link to its documentation and a status', (code) => {
  const error = new HttpError(code, 'POST /');
  const status = code === 'AMBIT_HTTP_OVERLOADED' ? 503 : 500;
  expect(error).toMatchObject({ name: 'HttpError', code, status, statusCode: status });
  expect(error.message).toMatch(
    new RegExp(`.{20,}: POST / \\[${code}, see docs/errors\\.md#${code.toLowerCase()}\\]$`),
  );
});

test('the message that the specification fixes stands alone', () => {
  expect(new HttpError('AMBIT_HTTP_NO_TRANSACTION').message).toBe('No transaction in progress');
});
