import { fastifyHost } from './adapters/fastify.js';
import { describeHostContract, EVERY_DATABASE } from './suite.js';

describeHostContract(fastifyHost, EVERY_DATABASE);
