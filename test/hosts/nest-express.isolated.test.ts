import { hangingDisposerContract } from './contract/hanging-disposers.js';
import { nestOnExpress, returningOnExpress } from './adapters/nest.js';
import { describeHostContract } from './suite.js';

describeHostContract(nestOnExpress, ['PostgreSQL'], (test) => {
  hangingDisposerContract(test);
});
describeHostContract(returningOnExpress, ['MariaDB']);
