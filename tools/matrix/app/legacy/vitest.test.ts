import { expect, test } from 'vitest';
import { legacy } from './legacy.js';

test('the container works', async () => {
  expect(await legacy()).toBe('ok');
});
