import { express4Host } from './hosts/express.js';
import { describeHostContract } from './suite.js';

describeHostContract(express4Host);
