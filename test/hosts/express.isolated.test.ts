import { expressHost } from './adapters/express.js';
import { hangingDisposerContract } from './contract/hanging-disposers.js';
import { expressHelperContract, expressResponseContract, expressTransactionContract } from './contract/express.js';
import { CHOSEN_DATABASES, describeHostContract } from './suite.js';

describeHostContract(expressHost, CHOSEN_DATABASES, (test) => {
  expressHelperContract(test);
  expressTransactionContract(test);
  expressResponseContract(test);
  hangingDisposerContract(test);
});
