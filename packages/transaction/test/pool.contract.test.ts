import { databases } from './support/databases.js';
import { poolContract } from './support/pool-contract.js';

for (const database of databases) poolContract(database);
