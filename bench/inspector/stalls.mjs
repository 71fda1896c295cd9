/**
 * For how long the recording inspector stops the process, and what it costs: `node bench/inspector/stalls.mjs [--seconds 10] [--rounds 3] [--rate 500]`.
 * A server with Express that has requests at a steady rate, in turn without the inspector and with `always: true`. The delay is that of the
 * event loop; the first number is from the moment the recording begins, which starts V8's profiler.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Container } from '@ambit/container';
import { containerMiddleware } from '@ambit/express';
import { inspectorMiddleware } from '@ambit/inspector/express';
import express from 'express';
import { table } from '../shared/results.mjs';

// Without a token the inspector is for development only.
process.env['NODE_ENV'] = 'development';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    rate: { type: 'string', default: '500' },
  },
});
const [seconds, rounds, rate] = [Number(values.seconds), Number(values.rounds), Number(values.rate)];

if (positionals[0] === 'server') await serve(positionals[1] === 'recording');
else await measure();

/** Says its port; at each message how long the loop was stopped, and the processor time, since the one before. */
async function serve(isRecording) {
  const container = new Container({ tags: ['application'] });
  const app = express();
  app.use(inspectorMiddleware({ container, scopes: { tags: ['request'] }, always: isRecording }));
  app.use(containerMiddleware(container));
  app.get('/orders/:id', (req, res) => res.json({ id: req.params.id }));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  let cpu = process.cpuUsage();
  process.on('message', () => {
    const { user, system } = process.cpuUsage(cpu);
    process.send({ longest: delay.max / 1e6, p99: delay.percentile(99) / 1e6, cpu: (user + system) / 1e6 });
    delay.reset();
    cpu = process.cpuUsage();
  });
  process.on('disconnect', () => process.exit());
  process.send({ port: server.address().port });
}

async function measure() {
  const rows = [];
  for (let round = 0; round < rounds; round++) {
    for (const kind of round % 2 === 0 ? ['without', 'recording'] : ['recording', 'without']) {
      const agent = new Agent({ keepAlive: true });
      const server = fork(new URL(import.meta.url), ['server', kind]);
      const [{ port }] = await once(server, 'message');
      const read = async () => {
        server.send('read');
        return (await once(server, 'message'))[0];
      };
      await load(agent, port, 2);
      await read();
      await load(agent, port, seconds);
      const { longest, p99, cpu } = await read();
      rows.push([kind, longest.toFixed(1), p99.toFixed(1), ((100 * cpu) / seconds).toFixed(1)]);
      agent.destroy();
      server.disconnect();
      await once(server, 'exit');
    }
  }
  console.log(table(['the inspector', 'longest delay, ms', '99 % of delays, ms', 'of one processor, %'], rows));
}

async function load(agent, port, forSeconds) {
  const start = performance.now();
  /** @type {Promise<void>[]} */
  const pending = [];
  for (let sent = 0; sent < forSeconds * rate; sent++) {
    const wait = start + (sent * 1000) / rate - performance.now();
    if (wait > 1) await pause(wait);
    pending.push(
      new Promise((resolve) =>
        get({ agent, port, path: `/orders/${sent}` }, (response) => response.resume().on('end', resolve)).on(
          'error',
          resolve,
        ),
      ),
    );
  }
  await Promise.all(pending);
}
