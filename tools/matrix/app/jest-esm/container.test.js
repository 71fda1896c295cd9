import { probe } from '../probe.js';

test('the container works', async () => {
  expect(await probe()).toBe('ok');
});
