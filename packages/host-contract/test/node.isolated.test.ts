import { nodeHost } from './hosts/node.js';
import { describeHostContract } from './suite.js';

describeHostContract(nodeHost);
