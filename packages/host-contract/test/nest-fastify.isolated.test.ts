import { nestOnFastify, returningOnFastify } from './hosts/nest.js';
import { describeHostContract } from './suite.js';

describeHostContract(nestOnFastify);
describeHostContract(returningOnFastify);
