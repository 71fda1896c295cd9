import { heldResponseContract } from './contract/held-responses.js';
import { nestOnFastify, returningOnFastify } from './hosts/nest.js';
import { describeHostContract } from './suite.js';

describeHostContract(nestOnFastify, heldResponseContract);
describeHostContract(returningOnFastify);
