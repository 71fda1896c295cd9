import { HttpError } from '@ambit/http';
import { expect, test } from 'vitest';
import * as host from '../src/index.js';

test('an error is an HttpError of every host', () => {
  expect(new host.HttpError('AMBIT_OPTION')).toBeInstanceOf(HttpError);
});
