import { fetchHost } from './hosts/fetch.js';
import { describeHostContract } from './suite.js';

describeHostContract(fetchHost);
