import { createApp } from './app.ts';
import { createContainer } from './graph.ts';

const container = createContainer();
await container.start();
const { host, port, database } = container.resolve('config');
const app = await createApp(container);
await app.listen({ port, host });
console.log(`Listening on http://localhost:${port}, with ${database}`);

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => {
    void app.close();
    // What is in progress even then, such as an upload that never ends, is cut and rolled back.
    setTimeout(() => app.server.closeAllConnections(), 10_000).unref();
  });
