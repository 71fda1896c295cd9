import { fork } from 'node:child_process';

/**
 * Starts the server of a contestant's file in a process of its own, which `cpu()` asks for the microseconds it has used.
 *
 * @param {URL} file
 * @param {NodeJS.ProcessEnv} env
 */
export async function startProcess(file, env) {
  const { first: port, ask, stop } = await startChild(new URL('child.mjs', import.meta.url), [file.href], env);
  return { port, cpu: () => ask('cpu'), stop };
}

/**
 * Starts a program that sends a message when it is ready, and one for each message that it is sent.
 *
 * @param {URL} program
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {import('node:child_process').ForkOptions} options
 */
export async function startChild(program, args, env = {}, options = {}) {
  const child = fork(program, args, {
    ...options,
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let onMessage = () => {};
  let onExit = () => {};
  child.on('message', (message) => onMessage(message));
  child.on('exit', (code) => onExit(new Error(`${[program.pathname, ...args].join(' ')} failed: exit code ${code}`)));
  const nextMessage = () => new Promise((resolve, reject) => ([onMessage, onExit] = [resolve, reject]));

  return {
    first: await nextMessage(),
    ask: (question) => {
      child.send(question);
      return nextMessage();
    },
    stop: () =>
      new Promise((resolve) => {
        onExit = resolve;
        child.kill();
      }),
  };
}
