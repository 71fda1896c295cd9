import { fastifyHost } from './adapters/fastify.js';
import {
  fastifyContainerContract,
  fastifyRouteTransactionContract,
  fastifyTransactionContract,
} from './contract/fastify.js';
import { describeHostContract } from './suite.js';

describeHostContract(fastifyHost, (test) => {
  fastifyContainerContract(test);
  fastifyTransactionContract(test);
  fastifyRouteTransactionContract(test);
});
