import { readFileSync } from 'node:fs';
import { HTTP_ERROR_CODES } from '@ambit/http/host';
import { HttpError } from '@ambit/http';
import { expect, it } from 'vitest';
import * as host from '../src/index.js';

it('README.md lists codes that exist', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const listed = [...readme.matchAll(/^\| `(AMBIT_\w+)`/gm)].map(([, code]) => code);
  expect(listed.length).toBeGreaterThan(5);
  expect(HTTP_ERROR_CODES).toEqual(expect.arrayContaining(listed));
});

it('an error is an HttpError of every host', () => {
  expect(new host.HttpError('AMBIT_OPTION')).toBeInstanceOf(HttpError);
});
