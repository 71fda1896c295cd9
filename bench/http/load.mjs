import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * A client that costs as little as it can: it knows how long an answer is, and counts bytes.
 * `send(n)` resolves when `n` requests were answered.
 */
export async function openLoad(port, { connections, method, expected }) {
  const request = `${method} / HTTP/1.1\r\nHost: bench\r\nContent-Length: 0\r\n\r\n`;
  const sockets = [];
  for (let i = 0; i < connections; i++) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    sockets.push(socket);
  }
  const length = await lengthOfAnswer(sockets[0], request, expected);

  const send = (n) =>
    new Promise((resolve, reject) => {
      let toSend = n;
      let toCome = n;
      for (const socket of sockets) {
        let bytes = 0;
        const next = () => {
          if (toSend-- > 0) socket.write(request);
        };
        socket.removeAllListeners();
        socket.on('error', reject);
        socket.on('close', () => reject(new Error('the server closed a connection')));
        socket.on('data', (chunk) => {
          bytes += chunk.length;
          if (bytes < length) return;
          bytes -= length;
          if (--toCome === 0) resolve();
          else next();
        });
        next();
      }
    });
  const close = () => {
    for (const socket of sockets) socket.removeAllListeners().destroy();
  };
  return { send, close };
}

async function lengthOfAnswer(socket, request, expected) {
  socket.write(request);
  const [head] = await once(socket, 'data');
  let text = head.toString();
  while (!text.includes('\r\n\r\n') || !text.includes('}')) text += (await once(socket, 'data')).toString();
  if (!text.includes(expected)) throw new Error(`expected ${expected}, got ${text}`);
  return text.length;
}
