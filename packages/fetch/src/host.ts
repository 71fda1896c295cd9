// For integrations of other frameworks, with what `@ambit/http/host` has: from a request of theirs to its response.
export { HttpError } from '@ambit/http/host';
export { clientOf, type RequestToServe, respondInScope, respondInTransaction } from './respond.js';
export { discard, finishWithBody, responseToNobody } from './response-body.js';
