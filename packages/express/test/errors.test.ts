import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { HTTP_ERROR_CODES, HttpError } from '../src/index.js';

it('README.md lists every code', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const listed = [...readme.matchAll(/^\| `(AMBIT_HTTP_\w+)`/gm)].map(([, code]) => code);
  expect(listed).toEqual([...HTTP_ERROR_CODES]);
});

it('an error says its code', () => {
  expect(new HttpError('AMBIT_HTTP_SECOND_ANSWER', 'POST /').message).toMatch(
    /: POST \/ \[AMBIT_HTTP_SECOND_ANSWER\]$/,
  );
});
