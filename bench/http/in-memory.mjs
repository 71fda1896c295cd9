import { fork } from 'node:child_process';
import { once } from 'node:events';

/**
 * Starts a contestant's file with clients in its own process, checks its first response, and warms it up.
 *
 * @param {URL} file
 * @param {{ method: string, expected: string }} work
 * @param {number} warmUp how many requests
 * @returns {Promise<import('../shared/servers.mjs').Server>}
 */
export async function startInMemory(file, { method, expected }, warmUp) {
  const child = fork(new URL('in-memory-child.mjs', import.meta.url), [file.href, method, expected], {
    // Nest must be one copy for @ambit/nest and for its application.
    env: { ...process.env, NODE_ENV: 'production', NODE_PRESERVE_SYMLINKS: '1' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`${file.pathname} failed: exit code ${code}`);
  });
  failed.catch(() => undefined);
  const reply = async () => (await Promise.race([once(child, 'message'), failed]))[0];
  const measure = ({ requests }) => {
    child.send(requests);
    return reply();
  };
  await reply();
  await measure({ requests: warmUp });
  const stop = async () => {
    child.kill();
    await failed.catch(() => undefined);
  };
  return { measure, stop };
}
