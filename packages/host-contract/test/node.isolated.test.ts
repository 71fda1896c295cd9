import { nodeHost } from './hosts/node.js';
import { heldResponseContract } from './contract/held-responses.js';
import { describeHostContract } from './suite.js';

describeHostContract(nodeHost, heldResponseContract);
