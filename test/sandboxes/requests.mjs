import assert from 'node:assert/strict';
import { isolationNamed } from './isolation.mjs';

/**
 * The stories of `users.spec.ts` with plain requests instead of a page.
 * @param {{ isolation: string, tests: number, workers: number }} options
 */
export async function runWithRequests({ isolation, tests, workers }) {
  const isolate = isolationNamed(isolation);
  let next = 0;
  const work = async () => {
    while (next < tests) await seesItsOwnUsersOnly(isolate, (next += 1));
  };
  await Promise.all(Array.from({ length: workers }, work));
}

/**
 * @param {() => Promise<import('./isolation.mjs').Isolated>} isolate
 * @param {number} number
 */
async function seesItsOwnUsersOnly(isolate, number) {
  const { url, headers, release } = await isolate();
  const users = `${url}/api/users`;
  const names = ['Ada', `User ${number}`, 'Grace'];
  const listed = async () => {
    const list = /** @type {{ name: string }[]} */ (await (await fetch(users, { headers })).json());
    return list.map(({ name }) => name);
  };
  assert.deepEqual(await listed(), []);
  for (const name of names) {
    const body = JSON.stringify({ name, email: 'somebody@example.com' });
    await fetch(users, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body });
  }
  assert.deepEqual(await listed(), names);
  await release();
}
