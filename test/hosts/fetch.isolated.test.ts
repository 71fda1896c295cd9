import { fetchHost } from './adapters/fetch.js';
import { describeHostContract } from './suite.js';

describeHostContract(fetchHost, ['PostgreSQL', 'SQLite']);
