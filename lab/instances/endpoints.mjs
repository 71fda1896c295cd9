import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { stop } from '../kit/program.mjs';
import { startHaproxy } from '../kit/haproxy.mjs';

/**
 * @typedef {object} Endpoints
 * @property {string} url for clients
 * @property {(old: string, current: string) => Promise<void>} replace one address by another, for new connections
 * @property {() => Promise<unknown>} close
 */

/** @type {Record<string, (urls: readonly string[], folder: string) => Promise<Endpoints>>} */
export const BALANCERS = { HAProxy: openHaproxy, Service: openService };

/** HAProxy as in deploy/, which a controller tells the addresses. @param {readonly string[]} urls @param {string} folder */
async function openHaproxy(urls, folder) {
  const { program, url, command, seesBothReady } = await startHaproxy(folder, urls);
  const current = [...urls];
  await seesBothReady();
  return {
    url,
    /** @param {string} old @param {string} next */
    async replace(old, next) {
      const index = current.indexOf(old);
      current[index] = next;
      const { hostname, port } = new URL(next);
      await command(`set server service/service-${index + 1} addr ${hostname} port ${port}`);
    },
    close: () => stop(program),
  };
}

/** A Service of Kubernetes: it forwards connections, knows nothing of requests, and never retries. @param {readonly string[]} urls */
async function openService(urls) {
  let current = [...urls];
  let turn = 0;
  const server = createServer((near) => {
    const { hostname, port } = new URL(current[(turn += 1) % current.length] ?? '');
    const far = connect(Number(port), hostname);
    near.pipe(far).pipe(near);
    // Not on `close`: what one side has sent before must still reach the other.
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    /** @param {string} old @param {string} next */
    async replace(old, next) {
      current = current.map((url) => (url === old ? next : url));
    },
    close: async () => server.close(),
  };
}
