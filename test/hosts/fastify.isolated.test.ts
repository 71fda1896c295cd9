import { fastifyHost } from './adapters/fastify.js';
import { fastifyContainerContract } from './contract/fastify-container.js';
import { fastifyRouteTransactionContract } from './contract/fastify-route-transaction.js';
import { fastifyTransactionContract } from './contract/fastify-transaction.js';
import { describeHostContract } from './suite.js';

describeHostContract(fastifyHost, (test) => {
  fastifyContainerContract(test);
  fastifyTransactionContract(test);
  fastifyRouteTransactionContract(test);
});
