import { express4Hosts, expressHost } from './express.js';
import { fastifyHost } from './fastify.js';
import { fetchHost } from './fetch.js';
import { honoHost } from './hono.js';
import { nestOnExpress, nestOnFastify } from './nest.js';
import { nodeHost } from './node.js';

export const everyHost = [
  expressHost,
  ...express4Hosts,
  fastifyHost,
  nodeHost,
  fetchHost,
  honoHost,
  nestOnExpress,
  nestOnFastify,
];
