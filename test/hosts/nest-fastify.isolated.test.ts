import { nestOnFastify, returningOnFastify } from './adapters/nest.js';
import { describeHostContract } from './suite.js';

describeHostContract(nestOnFastify, ['SQLite']);
describeHostContract(returningOnFastify, ['PostgreSQL']);
