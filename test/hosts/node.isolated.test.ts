import { nodeHost } from './adapters/node.js';
import { describeHostContract } from './suite.js';

describeHostContract(nodeHost, ['PostgreSQL']);
