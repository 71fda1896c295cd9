import { once } from 'node:events';
import { connect } from 'node:net';

const FIRST_DIGIT_OF_STATUS = 'HTTP/1.1 '.length;
const SUCCESS = '2';

/** @typedef {{ method: string, path?: string, headers?: Record<string, string>, body?: string }} Request */

/**
 * Clients that cost as little as they can: each reads of a response its status and its length, and counts bytes.
 * `requestOf(i)` is what the connection `i` sends next; `check(text)` sees the first response of each connection.
 * `send(n)` resolves when `n` more were completed, with how many milliseconds each took; `sendFor(ms)` sends for so long.
 * Each response has a status that begins with `status`.
 *
 * @param {number} port
 * @param {{ connections: number, requestOf: (i: number) => Request, check?: (response: string) => void, status?: string }} load
 */
export async function openLoad(port, { connections, requestOf, check = () => {}, status = SUCCESS }) {
  const clients = await Promise.all(
    Array.from({ length: connections }, (_, i) => meet(port, () => requestOf(i), check)),
  );

  /** Every connection sends its next request when it has its response, for as long as there are `more()`. */
  const sendWhile = async (more) => {
    const latencies = [];
    await Promise.all(clients.map((client) => sendInTurn(client, more, latencies, status)));
    return latencies;
  };
  const send = (n) => {
    let toSend = n;
    return sendWhile(() => toSend-- > 0);
  };
  const sendFor = (ms) => {
    const end = performance.now() + ms;
    return sendWhile(() => performance.now() < end);
  };
  const close = () => {
    for (const { socket } of clients) socket.removeAllListeners().destroy();
  };
  return { send, sendFor, close };
}

function sendInTurn({ socket, next }, more, latencies, status) {
  return new Promise((resolve, reject) => {
    let response;
    let length = Infinity;
    let sent = 0;
    const sendNext = () => {
      if (!more()) return resolve();
      sent = performance.now();
      socket.write(next());
    };
    socket.removeAllListeners();
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed a connection')));
    socket.on('data', (chunk) => {
      response = response ? Buffer.concat([response, chunk]) : chunk;
      if (length === Infinity) length = lengthOf(response);
      if (response.length < length) return;
      const got = response.toString('latin1', FIRST_DIGIT_OF_STATUS, FIRST_DIGIT_OF_STATUS + status.length);
      if (got !== status) return reject(new Error(`got ${response.toString()}`));
      latencies.push(performance.now() - sent);
      response = undefined;
      length = Infinity;
      sendNext();
    });
    sendNext();
  });
}

async function meet(port, requestOf, check) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let [request, bytes] = [];
  const next = () => {
    const wanted = requestOf();
    if (wanted !== request) [request, bytes] = [wanted, bytesOf(wanted)];
    return bytes;
  };
  await once(socket, 'connect');
  socket.write(next());
  let response = Buffer.alloc(0);
  while (response.length < lengthOf(response)) response = Buffer.concat([response, (await once(socket, 'data'))[0]]);
  check(response.toString());
  return { socket, next };
}

/** @param {Request} request */
function bytesOf({ method, path = '/', headers = {}, body = '' }) {
  const all = {
    host: 'bench',
    ...(body && { 'content-type': 'application/json' }),
    'content-length': Buffer.byteLength(body),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

function lengthOf(response) {
  const head = response.indexOf('\r\n\r\n') + 4;
  if (head < 4) return Infinity;
  const [, length] = /^content-length: (\d+)/im.exec(response.toString('latin1', 0, head)) ?? [];
  if (length === undefined) throw new Error(`a response without a length: ${response.toString()}`);
  return head + Number(length);
}
