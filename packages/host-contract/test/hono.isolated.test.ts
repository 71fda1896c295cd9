import { honoHost } from './hosts/hono.js';
import { describeHostContract } from './suite.js';

describeHostContract(honoHost);
