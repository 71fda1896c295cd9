import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { environment, kept } from './server.mjs';

const WRAPPER = fileURLToPath(new URL('measured-server.mjs', import.meta.url));

/** @typedef {import('./measured-server.mjs').Measurement} Measurement */

/**
 * @typedef {object} MeasuredServer
 * @property {string} url
 * @property {() => Promise<Measurement>} measure
 * @property {() => Promise<Measurement>} empty deletes all rows, so that the data is not measured
 * @property {() => Promise<void>} stop
 */

/**
 * @param {import('./server.mjs').HostVariant} host
 * @param {Record<string, string>} env
 * @returns {Promise<MeasuredServer>}
 */
export async function startMeasured(host, env) {
  const child = kept(
    fork(WRAPPER, [], { env: environment(host, { LOG_LEVEL: 'fatal', ...env }), execArgv: ['--expose-gc'] }),
  );
  const exited = once(child, 'exit');
  const died = exited.then(([code, signal]) => {
    throw new Error(`The measured service exited: code ${code}, signal ${signal}`);
  });
  died.catch(() => undefined);
  const nextMessage = async () => (await Promise.race([once(child, 'message'), died]))[0];
  const ask = (/** @type {string} */ wish) => {
    child.send(wish);
    return nextMessage();
  };
  const { url } = await nextMessage();
  return {
    url,
    measure: () => ask('measure'),
    empty: () => ask('empty'),
    stop: async () => {
      child.disconnect();
      await exited;
    },
  };
}
