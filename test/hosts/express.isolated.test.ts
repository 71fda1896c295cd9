import { expressHost } from './adapters/express.js';
import { hangingDisposerContract } from './contract/hanging-disposers.js';
import { expressResponseContract } from './contract/express-responses.js';
import { expressHelperContract } from './contract/express-helpers.js';
import { expressTransactionContract } from './contract/express-transaction.js';
import { describeHostContract } from './suite.js';

describeHostContract(expressHost, (test) => {
  expressHelperContract(test);
  expressTransactionContract(test);
  expressResponseContract(test);
  hangingDisposerContract(test);
});
