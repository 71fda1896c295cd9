import type { Endpoint } from './endpoint.js';
import { healthEndpoints } from './health.js';
import { orderEndpoints } from './orders.js';
import { userEndpoints } from './users.js';

/** Every operation of the API. The hosts' routes, the 405 responses and the document are tested against it. */
export const API_ENDPOINTS: readonly Endpoint[] = [...userEndpoints, ...orderEndpoints, ...healthEndpoints];
