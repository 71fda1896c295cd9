import { fastifyHost } from './hosts/fastify.js';
import { variantPContainerPromises } from './promises/variant-p-container.js';
import { variantPTransactionPromises } from './promises/variant-p-transaction.js';
import { describeHostContract } from './suite.js';

describeHostContract(fastifyHost, (test) => {
  variantPContainerPromises(test);
  variantPTransactionPromises(test);
});
