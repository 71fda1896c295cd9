import { expressHost } from './hosts/express.js';
import { errorResponsePromises } from './promises/error-responses.js';
import { variantMAnswerPromises } from './promises/variant-m-answers.js';
import { variantMHelperPromises } from './promises/variant-m-helpers.js';
import { variantMTransactionPromises } from './promises/variant-m-transaction.js';
import { describeHostContract } from './suite.js';

describeHostContract(expressHost, (test) => {
  variantMHelperPromises(test);
  variantMTransactionPromises(test);
  variantMAnswerPromises(test);
  errorResponsePromises(test);
});
