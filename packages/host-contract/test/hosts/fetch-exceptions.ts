import { runtime } from '../support/serve-fetch.js';
import type { Exception } from './host.js';

/** What a function of a `Request` cannot know or decide, whatever its host. */
const WITHOUT_A_SOCKET: readonly Exception[] = [
  { test: /pipeline/, because: 'requests on one connection are the business of the server' },
  { test: /followed by|garbage/, because: 'what the server cannot parse is answered by the server' },
  { test: /maxRequestsPerConnection|has sent .* bytes more|wait for their turn|waits its turn/, because: 'the same' },
  { test: /those of clients that are gone do not count/, because: 'its client pipelines' },
  {
    test: /because COMMIT fails takes back what was said/,
    because: 'an error has a Response of its own, so nothing is taken back',
  },
];

/** How each server closes is its own. */
const CLOSING: Readonly<Record<typeof runtime, readonly Exception[]>> = {
  Node: [
    {
      test: /closing > (does not wait|answers|tells|waits)/,
      because: 'Node leaves connections open; drain() of @ambit/http closes them, as in @ambit/hono',
    },
  ],
  Bun: [
    { test: /closing > does not wait for idle clients/, because: 'Bun waits for them until its idleTimeout' },
    { test: /closing > (answers what has begun|tells a client to go)/, because: 'the same' },
  ],
  Deno: [
    {
      test: /closing > (answers what has begun|tells a client to go)/,
      because: 'Deno closes connections without saying so in a header',
    },
  ],
};

export const fetchExceptions: readonly Exception[] = [...WITHOUT_A_SOCKET, ...CLOSING[runtime]];
