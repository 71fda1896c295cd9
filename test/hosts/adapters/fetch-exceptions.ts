import { runtime } from '../support/serve-fetch.js';
import type { Exception } from '@ambit/testing/hosts';

/** What a function of a `Request` cannot know or decide, whatever its host. */
const WITHOUT_A_SOCKET: readonly Exception[] = [
  {
    test: /is the request scope again in the error handler/,
    because: 'the server responds to the error, outside of the request',
  },
  { test: /pipeline/, because: 'requests on one connection are the business of the server' },
  { test: /followed by|garbage/, because: 'the server responds to what it cannot parse' },
  { test: /gets the refusal alone/, because: 'the server says when a client may send its body' },
  { test: /maxRequestsPerConnection|has sent .* bytes more|wait for their turn|waits its turn/, because: 'the same' },
  {
    test: /a middleware kept|in a middleware|disconnected before the host saw/,
    because: 'it is called at once with a request, and no middleware has the socket',
  },
  { test: /those of clients that have disconnected do not count/, because: 'its client pipelines' },
  {
    test: /because COMMIT fails takes back what was said/,
    because: 'an error has a Response of its own, so nothing is taken back',
  },
  {
    test: /a response that middlewares wrap|the listeners of the response/,
    because: 'it has no response of node:http',
  },
];

const HTTP_2_ON_HTTP_1: Exception = {
  test: /says HTTP\/2 on a connection/,
  because: 'the server refuses such a request',
};

/** What each server refuses, and how it closes, is its own. */
const OF_THE_SERVER: Readonly<Record<typeof runtime, readonly Exception[]>> = {
  Node: [
    {
      test: /closing > (does not wait|responds|asks|waits)|a server that closes/,
      because: 'Node leaves connections open; drain() of @ambit/http closes them, as in @ambit/hono',
    },
  ],
  Bun: [
    HTTP_2_ON_HTTP_1,
    {
      test: /closing > (does not wait for idle clients|waits a second)/,
      because: 'Bun waits for them until its idleTimeout',
    },
    {
      test: /closing > (responds to what has begun|asks a client to disconnect)|a server that closes/,
      because: 'the same',
    },
  ],
  Deno: [
    HTTP_2_ON_HTTP_1,
    {
      test: /closing > (responds to what has begun|asks a client to disconnect)|a server that closes/,
      because: 'Deno closes connections without saying so in a header',
    },
  ],
};

export const fetchExceptions: readonly Exception[] = [...WITHOUT_A_SOCKET, ...OF_THE_SERVER[runtime]];
