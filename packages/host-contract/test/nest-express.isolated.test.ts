import { heldResponseContract } from './contract/held-responses.js';
import { hangingDisposerContract } from './contract/hanging-disposers.js';
import { nestOnExpress, returningOnExpress } from './hosts/nest.js';
import { describeHostContract } from './suite.js';

describeHostContract(nestOnExpress, (test) => {
  heldResponseContract(test);
  hangingDisposerContract(test);
});
describeHostContract(returningOnExpress);
