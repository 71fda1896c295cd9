import { express4Hosts } from './adapters/express.js';
import { describeHostContract } from './suite.js';

for (const host of express4Hosts) describeHostContract(host, ['PostgreSQL']);
