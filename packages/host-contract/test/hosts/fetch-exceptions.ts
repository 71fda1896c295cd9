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

/** `server.close()` of Node leaves keep-alive connections open; with @ambit/http, as in @ambit/hono, `drain()` closes them. */
const ON_NODE: readonly Exception[] = [
  {
    test: /closing > (does not wait|answers|tells|waits)/,
    because: 'Node keeps connections open; see drain() of @ambit/http',
  },
];

export const fetchExceptions: readonly Exception[] = [...WITHOUT_A_SOCKET, ...(runtime === 'Node' ? ON_NODE : [])];
