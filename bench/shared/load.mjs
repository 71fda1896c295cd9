import { once } from 'node:events';
import { connect } from 'node:net';

const FIRST_DIGIT_OF_STATUS = 'HTTP/1.1 '.length;
const SUCCESS = '2'.charCodeAt(0);

/**
 * A client that costs as little as it can: it knows how long an response is, looks at its status, and counts bytes.
 * `requestOf(i)` is what the connection `i` sends again and again; `check(text)` sees its first response.
 * `send(n)` resolves when `n` more were completed; `sendFor(ms)` sends for so long, and resolves with how many were.
 */
export async function openLoad(port, { connections, requestOf, check }) {
  const clients = await Promise.all(Array.from({ length: connections }, (_, i) => meet(port, requestOf(i), check)));

  /** Every connection sends its next request when it has its response, for as long as there are `more()`. */
  const sendWhile = (more) =>
    new Promise((resolve, reject) => {
      let completed = 0;
      let busy = clients.length;
      for (const { socket, request, length } of clients) {
        let bytes = 0;
        const next = () => {
          if (more()) socket.write(request);
          else if (--busy === 0) resolve(completed);
        };
        socket.removeAllListeners();
        socket.on('error', reject);
        socket.on('close', () => reject(new Error('the server closed a connection')));
        socket.on('data', (chunk) => {
          if (bytes === 0 && chunk[FIRST_DIGIT_OF_STATUS] !== SUCCESS) reject(new Error(`got ${chunk.toString()}`));
          bytes += chunk.length;
          if (bytes < length) return;
          bytes -= length;
          completed += 1;
          next();
        });
        next();
      }
    });
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

/** All responses of one connection have the same length: what differs in them is numbers and ids. */
async function meet(port, { method, path = '/', body = '' }, check) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const type = body && 'Content-Type: application/json\r\n';
  const head = `${method} ${path} HTTP/1.1\r\nHost: bench\r\n${type}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const request = Buffer.from(head + body);
  await once(socket, 'connect');
  socket.write(request);
  let response = Buffer.alloc(0);
  while (response.length < lengthOf(response)) response = Buffer.concat([response, (await once(socket, 'data'))[0]]);
  check(response.toString());
  return { socket, request, length: response.length };
}

function lengthOf(response) {
  const head = response.indexOf('\r\n\r\n') + 4;
  if (head < 4) return Infinity;
  const [, length] = /^content-length: (\d+)/im.exec(response.toString('latin1', 0, head)) ?? [];
  if (length === undefined) throw new Error(`an response without a length: ${response.toString()}`);
  return head + Number(length);
}
