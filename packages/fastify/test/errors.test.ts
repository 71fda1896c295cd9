import { readFileSync } from 'node:fs';
import { HTTP_ERROR_CODES } from '@ambit/http/host';
import { HttpError } from '@ambit/http';
import { expect, test } from 'vitest';
import * as host from '../src/index.js';

test('the README lists codes that exist', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const listed = new Set(readme.match(/(?<=^\| `)AMBIT_\w+/gm));
  expect(listed.size).toBeGreaterThan(5);
  expect(HTTP_ERROR_CODES).toEqual(expect.arrayContaining([...listed]));
});

test('an error is an HttpError of every host', () => {
  expect(new host.HttpError('AMBIT_OPTION')).toBeInstanceOf(HttpError);
});
