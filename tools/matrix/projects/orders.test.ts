import { expect, test } from '@jest/globals';
import { storedProducts } from './orders';

test('a transaction that fails leaves no row', async () => {
  expect(await storedProducts()).toEqual(['pen']);
});
