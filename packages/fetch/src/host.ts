// For integrations of other frameworks, with what `@ambit/http/host` has: what a response body does to its request.
export { HttpError } from '@ambit/http/host';
export { discard, finishWithBody, responseToNobody } from './response-body.js';
