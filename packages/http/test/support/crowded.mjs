// Fills the host with requests that wait, and prints the responses to one more client that pipelines.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Container } from '@ambit/container';
import { createHandler } from '@ambit/http';

const CLIENTS = 80;
let arrived = 0;

const container = new Container({ tags: ['application'] });
const echo = createHandler(container, async (req, res) => {
  if (req.url !== '/wait') res.end(await text(req));
  else if ((arrived += 1) === CLIENTS) setImmediate(pipeline);
});
// A handler within another one: each request is known twice to its connection.
const server = createServer(createHandler(container, (req, res) => echo(req, res)));
await once(server.listen(0, '127.0.0.1'), 'listening');

const connectAndSend = (request, count) => {
  const client = connect(server.address().port, '127.0.0.1').setEncoding('latin1');
  client.write(request.repeat(count));
  return client;
};

function pipeline() {
  const client = connectAndSend('POST / HTTP/1.1\r\nhost: test\r\ncontent-length: 3\r\n\r\nabc', 4);
  let received = '';
  client.on('data', (part) => {
    received += part;
    const statuses = Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
    if (statuses.length < 4) return;
    console.log(statuses.join(' '));
    process.exit();
  });
}

for (let i = 0; i < CLIENTS; i += 1) connectAndSend('GET /wait HTTP/1.1\r\nhost: test\r\n\r\n', 27);
