import { type Case, problem } from './endpoint.js';

const TRY_AGAIN: Case = ['A retry may succeed', 'Service Unavailable: try again in a moment'];

/** The response of every operation to a caller whom `identify` refuses. */
export const CALLER_REFUSED = problem(
  '`identify` refused the caller, with a message of its own. Only a service that was started with that option sends this.',
  { unknownToken: ['A token that is not known', 'The token is not known'] },
  ['www-authenticate'],
);

/** The responses of any endpoint when the database is unavailable, or the service has a bug. */
export const FAILURES = {
  500: problem('An error of the service. The log has the cause under the x-request-id.', {
    ours: ['Any cause', 'Internal Server Error'],
  }),
  503: problem(
    'The database does not respond, or the service is overloaded. Nothing was stored.',
    { tryAgain: TRY_AGAIN },
    ['retry-after'],
  ),
};

const OUTCOME_UNKNOWN: Case = [
  'The connection was lost at COMMIT',
  'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same',
];

/** The same for an endpoint that stores something. */
export const FAILURES_OF_WORK = {
  ...FAILURES,
  503: problem(
    'Nothing was stored, and a retry may succeed. Or the connection to the database was lost at COMMIT, and the result is unknown.',
    { tryAgain: TRY_AGAIN, outcomeUnknown: OUTCOME_UNKNOWN },
    ['retry-after', 'set-cookie'],
  ),
};

/** The cases of 400 in which a body was not read. */
export const UNREADABLE_BODY: Readonly<Record<string, Case>> = {
  absent: ['No body', 'A JSON body is required'],
  notJson: ['Not JSON', 'The body is not valid JSON'],
};

/** The responses to a body that is refused before it is parsed. */
export const REFUSALS_OF_BODY = {
  413: problem('The body is larger than 1 MiB.', { tooLarge: ['More than 1 MiB', 'The body is too large'] }),
  415: problem('The body is not JSON in UTF-8.', {
    noJson: ['Another content type', 'The body must be sent as application/json in UTF-8'],
    encoded: ['A compressed body', 'The body must be sent without Content-Encoding'],
  }),
};

export const KEY_USED = problem('The Idempotency-Key was used for another request within the last 24 hours.', {
  keyUsed: [
    'The same key, another body',
    'This Idempotency-Key was used for another request: take a new key for new work',
  ],
});

export const BAD_KEY: Case = [
  'An invalid key',
  'Idempotency-Key must be 1 to 255 visible ASCII characters, given once',
];
export const KEY_IN_USE: Case = [
  'The first request with the key is running',
  'A request with this Idempotency-Key is still running: try again when it has finished',
];
