import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Container } from '@ambit/container';
import * as onExpress from '../../simplified-express.js';
import * as onFastify from '../../simplified-fastify.js';

interface RunningHost {
  readonly port: number;
  close(): Promise<unknown>;
}

/** A simplified variant, served on a free port. */
export interface Host {
  readonly name: string;
  readonly isExpress: boolean;
  readonly createAppContainer: () => Container;
  readonly start: (container: Container) => Promise<RunningHost>;
}

const expressHost: Host = {
  name: 'simplified-express',
  isExpress: true,
  createAppContainer: onExpress.createAppContainer,
  start: async (container) => {
    const server = onExpress.buildApp(container).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const close = async (): Promise<void> => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    };
    return { port: (server.address() as AddressInfo).port, close };
  },
};

const fastifyHost: Host = {
  name: 'simplified-fastify',
  isExpress: false,
  createAppContainer: onFastify.createAppContainer,
  start: async (container) => {
    const server = await onFastify.buildServer(container);
    await server.listen({ port: 0, host: '127.0.0.1' });
    return { port: (server.server.address() as AddressInfo).port, close: () => server.close() };
  },
};

export const hosts = [expressHost, fastifyHost];
