import { fastifyHost } from './adapters/fastify.js';
import {
  fastifyContainerContract,
  fastifyRouteTransactionContract,
  fastifyTransactionContract,
} from './contract/fastify.js';
import { describeHostContract, EVERY_DATABASE } from './suite.js';

describeHostContract(fastifyHost, EVERY_DATABASE, (test) => {
  fastifyContainerContract(test);
  fastifyTransactionContract(test);
  fastifyRouteTransactionContract(test);
});
