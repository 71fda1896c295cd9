/**
 * One server in a process of its own, with clients in the same process whose sockets are memory: what is measured is the
 * server's code without the kernel's network, whose cost varies by more than the differences that are looked for.
 * `in-memory-child.mjs <file> <method> <expected>`; each message asks for so many requests.
 */
import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';

const CONNECTIONS = 16;
const [file, method, expected] = process.argv.slice(2);

let server;
subscribe('http.server.request.start', (started) => (server ??= started.server));
const { contestant } = await import(file);
const response = await fetch(await contestant.start(), { method });
const body = await response.text();
if (!body.includes(expected)) throw new Error(`expected ${expected}, got ${body}`);

const request = Buffer.from(`${method} / HTTP/1.1\r\nhost: bench\r\ncontent-length: 0\r\n\r\n`);

/** A client that sends its next request when it has received the response to the last one. */
class MemorySocket extends Socket {
  #left;
  #done;

  constructor(requests, done) {
    super({ allowHalfOpen: true });
    this.#left = requests;
    this.#done = done;
  }

  request() {
    this.#left -= 1;
    if (this.#left >= 0) setImmediate(() => this.push(request));
    else {
      this.push(null);
      this.#done();
    }
  }

  _read() {}

  _write(_chunk, _encoding, callback) {
    callback();
    this.request();
  }

  _writev(_chunks, callback) {
    callback();
    this.request();
  }

  _final(callback) {
    callback();
  }
}

function connect(requests) {
  return new Promise((resolve) => {
    const socket = new MemorySocket(requests, resolve);
    server.emit('connection', socket);
    socket.request();
  });
}

async function measure(requests) {
  const before = process.cpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: CONNECTIONS }, () => connect(requests / CONNECTIONS)));
  const { user, system } = process.cpuUsage(before);
  process.send({ cpu: (user + system) / requests, rate: (1000 * requests) / (performance.now() - start) });
}

process.on('message', (requests) => void measure(requests));
process.on('disconnect', () => process.exit());
process.send('ready');
