import { express4Host } from './hosts/express.js';
import { heldResponseContract } from './contract/held-responses.js';
import { describeHostContract } from './suite.js';

describeHostContract(express4Host, heldResponseContract);
