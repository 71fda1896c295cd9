import { expressHost } from './adapters/express.js';
import { hangingDisposerContract } from './contract/hanging-disposers.js';
import { CHOSEN_DATABASES, describeHostContract } from './suite.js';

describeHostContract(expressHost, CHOSEN_DATABASES, hangingDisposerContract);
