import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { HTTP_ERROR_CODES, HttpError } from '../src/index.js';

test('the README lists the codes that there are', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const listed = new Set(readme.match(/AMBIT_HTTP_[A-Z_]+/g));
  expect([...listed].toSorted()).toEqual([...HTTP_ERROR_CODES].toSorted());
});

test.each(HTTP_ERROR_CODES)('%s comes with words of its own, a code and a status', (code) => {
  const error = new HttpError(code);
  expect(error).toMatchObject({ name: 'HttpError', code, statusCode: code === 'AMBIT_HTTP_OVERLOADED' ? 503 : 500 });
  expect(error.message.length).toBeGreaterThan(20);
});
