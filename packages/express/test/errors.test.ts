import { HttpError } from '@ambit/http';
import { expect, it } from 'vitest';
import * as host from '../src/index.js';

it('an error is an HttpError of every host', () => {
  expect(new host.HttpError('AMBIT_OPTION')).toBeInstanceOf(HttpError);
});
