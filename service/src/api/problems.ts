import { problem } from './endpoint.js';

/** The responses of any endpoint when the database is unavailable, or the service has a bug. */
export const FAILURES = {
  500: problem('An error of the service. The log has the cause under the x-request-id.', {
    ours: 'Internal Server Error',
  }),
  503: problem(
    'The database does not respond, or the service is overloaded. Nothing was stored.',
    { tryAgain: 'Service Unavailable: try again in a moment' },
    ['retry-after'],
  ),
};

const OUTCOME_UNKNOWN =
  'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same';

/** The same for an endpoint that stores something. */
export const FAILURES_OF_WORK = {
  ...FAILURES,
  503: problem(
    'Nothing was stored, and a retry may succeed. Or the connection to the database was lost at COMMIT, and the result is unknown.',
    { tryAgain: 'Service Unavailable: try again in a moment', outcomeUnknown: OUTCOME_UNKNOWN },
    ['retry-after', 'set-cookie'],
  ),
};

/** The responses to a body that is refused before it is parsed. */
export const REFUSALS_OF_BODY = {
  413: problem('The body is larger than 1 MiB.', { tooLarge: 'The body is too large' }),
  415: problem('The body is not JSON in UTF-8.', {
    noJson: 'The body must be sent as application/json in UTF-8',
    encoded: 'The body must be sent without Content-Encoding',
  }),
};

export const KEY_USED = problem('The Idempotency-Key was used for another request within the last 24 hours.', {
  keyUsed: 'This Idempotency-Key was used for another request: take a new key for new work',
});

export const BAD_KEY = 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once';
export const KEY_IN_USE = 'A request with this Idempotency-Key is still running: try again when it was answered';
