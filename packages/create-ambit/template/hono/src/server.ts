import type { Server } from 'node:http';
import { disposeOnSignal } from '@ambit/http';
import { serve } from '@hono/node-server';
import { createApp } from './app.ts';
import { createContainer } from './graph.ts';

const container = createContainer();
await container.start();
const { host, port, database } = container.resolve('config');
const { fetch } = createApp(container);
const server = serve({ fetch, port, hostname: host }, () =>
  console.log(`Listening on http://localhost:${port}, with ${database}`),
) as Server;
disposeOnSignal(server, container, { signals: ['SIGTERM', 'SIGINT'] });
