import { runInTransaction } from '@ambit/transaction';
import { expect, it } from 'vitest';

it('finds the packages as an application does, not through the workspace', () => {
  expect(import.meta.resolve('@ambit/transaction')).toContain('/test/libraries/node_modules/@ambit/transaction/');
  expect(runInTransaction).toBeTypeOf('function');
});
