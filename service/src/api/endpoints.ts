import type { Endpoint } from './endpoint.js';
import { healthEndpoints } from './health.js';
import { orderEndpoints } from './orders.js';
import { userEndpoints } from './users.js';

/** Everything that can be asked of the API: the hosts' routes, the 405s and the document agree with it. */
export const API_ENDPOINTS: readonly Endpoint[] = [...userEndpoints, ...orderEndpoints, ...healthEndpoints];
