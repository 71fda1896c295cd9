import { expressHost } from './hosts/express.js';
import { variantMPromises } from './promises/variant-m.js';
import { describeHostContract } from './suite.js';

describeHostContract(expressHost, variantMPromises);
