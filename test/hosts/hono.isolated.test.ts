import { honoHost } from './adapters/hono.js';
import { describeHostContract } from './suite.js';

describeHostContract(honoHost, ['MariaDB']);
