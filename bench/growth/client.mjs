import { Agent, request } from 'node:http';

/** Sends these requests, one after the other. */
export async function sendOnce(port, requests) {
  const agent = new Agent({ keepAlive: true });
  for (const each of requests) await respond(agent, port, each);
  agent.destroy();
}

/**
 * Sends requests over so many kept connections, each as soon as the one before has its response, for so long.
 *
 * @param {number} port
 * @param {(connection: number) => import('./works.mjs').Request} next
 * @param {{ connections: number, ms: number }} load
 * @returns {Promise<{ latencies: number[], rate: number }>} milliseconds, the shortest first
 */
export async function send(port, next, { connections, ms }) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latencies = [];
  const start = performance.now();
  const sendInTurn = async (connection) => {
    while (performance.now() - start < ms) {
      const sent = performance.now();
      await respond(agent, port, next(connection));
      latencies.push(performance.now() - sent);
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, (_, connection) => sendInTurn(connection)));
  } finally {
    agent.destroy();
  }
  const rate = latencies.length / ((performance.now() - start) / 1000);
  return { latencies: latencies.toSorted((a, b) => a - b), rate };
}

function respond(agent, port, { body, ...options }) {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, port, host: '127.0.0.1', ...options }, (response) => {
      if (response.statusCode > 299) reject(new Error(`${options.path} got ${response.statusCode}`));
      response.on('end', resolve).on('error', reject);
      response.resume();
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** @param {number[]} sorted */
export const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
