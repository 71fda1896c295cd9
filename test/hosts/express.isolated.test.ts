import { expressHost } from './adapters/express.js';
import { hangingDisposerContract } from './contract/hanging-disposers.js';
import { expressHelperContract, expressResponseContract, expressTransactionContract } from './contract/express.js';
import { describeHostContract } from './suite.js';

describeHostContract(expressHost, (test) => {
  expressHelperContract(test);
  expressTransactionContract(test);
  expressResponseContract(test);
  hangingDisposerContract(test);
});
