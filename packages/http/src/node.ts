/** Exports for authors of hosts on `node:http`; `@ambit/http/host` has those for every runtime. */
export { closeUnlessEnded } from './response-gate.js';
export { ServerConnections } from './server-connections.js';
export {
  beginTransaction,
  type ErrorHandlers,
  HeldResponse,
  type HeldResponseOptions,
  isBodyToCome,
} from './held-response.js';
export { ConnectedRequest } from './connection.js';
export { shareShapes } from './node-internals.js';
export { affordableRequests, type LoadOptions, RequestHost, type RequestHostOptions } from './request-host.js';
