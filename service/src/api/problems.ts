import { problem } from './endpoint.js';

/** What any endpoint may answer when the database, or we ourselves, cannot. */
export const FAILURES = {
  500: problem('Our fault. The log has the cause, under the x-request-id.', { ours: 'Internal Server Error' }),
  503: problem(
    'Not now: the database does not answer, or too many ask at once. Nothing was done.',
    { tryAgain: 'Service Unavailable: try again in a moment' },
    ['retry-after'],
  ),
};

const OUTCOME_UNKNOWN =
  'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same';

/** The same of an endpoint that changes something in a transaction. */
export const FAILURES_OF_WORK = {
  ...FAILURES,
  503: problem(
    'Not now: nothing was done. Or it is not known whether it was, as the connection to the database was lost at COMMIT.',
    { tryAgain: 'Service Unavailable: try again in a moment', outcomeUnknown: OUTCOME_UNKNOWN },
    ['retry-after'],
  ),
};

/** How a body may be refused before it is read. */
export const REFUSALS_OF_BODY = {
  413: problem('The body has more than 1 MiB.', { tooLarge: 'The body is too large' }),
  415: problem('The body is not sent as JSON.', {
    noJson: 'The body must be sent as application/json in UTF-8',
    encoded: 'The body must be sent without Content-Encoding',
  }),
};

export const KEY_USED = problem('The Idempotency-Key was used within 24 hours, for another request.', {
  keyUsed: 'This Idempotency-Key was used for another request: take a new key for new work',
});

export const BAD_KEY = 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once';
export const KEY_IN_USE = 'A request with this Idempotency-Key is still running: try again when it was answered';
