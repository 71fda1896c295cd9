import { disposeOnSignal } from '@ambit/express';
import { createApp } from './app.ts';
import { createContainer } from './graph.ts';

const container = createContainer();
await container.start();
const { host, port, database } = container.resolve('config');
const server = createApp(container).listen(port, host, (error) => {
  if (error) throw error;
  console.log(`Listening on http://localhost:${port}, with ${database}`);
});
disposeOnSignal(server, container, { signals: ['SIGTERM', 'SIGINT'] });
