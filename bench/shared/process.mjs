import { fork } from 'node:child_process';

/**
 * Starts the server of a contestant's file in a process of its own, which `cpu()` asks for the microseconds it has used.
 *
 * @param {URL} file
 * @param {NodeJS.ProcessEnv} env
 */
export async function startProcess(file, env) {
  const child = fork(new URL('child.mjs', import.meta.url), [file.href], {
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let onMessage = () => {};
  let onExit = () => {};
  child.on('message', (message) => onMessage(message));
  child.on('exit', (code) => onExit(new Error(`${file.pathname} failed: exit code ${code}`)));
  const nextMessage = () => new Promise((resolve, reject) => ([onMessage, onExit] = [resolve, reject]));

  const port = await nextMessage();
  return {
    port,
    cpu: () => {
      child.send('cpu');
      return nextMessage();
    },
    stop: () =>
      new Promise((resolve) => {
        onExit = resolve;
        child.kill();
      }),
  };
}
