import {
  checkCount,
  checkFunctions,
  checkRequestOptions,
  type ParentScope as ParentScopeOf,
  type RequestOptions as CommonOptions,
} from '@ambit/host';

/** The scope around the request's own: the application container, or what a function of the request gives. */
export type ParentScope<Q, C> = ParentScopeOf<Q, [context: C]>;

/** The same on every host. */
export interface RequestOptions<Q = Request> extends CommonOptions<Q> {
  /** How many requests may be in progress. A further one fails with `AMBIT_HTTP_OVERLOADED`. Default: no limit. */
  readonly maxRequests?: number;
  /** Requests that are never refused, such as the liveness probe. Default: none. */
  readonly isEssential?: (request: Q) => boolean;
  /** Called when a request scope failed to dispose. Default: `console.error`. */
  readonly onDisposeError?: (error: unknown, request: Q) => unknown;
}

export function checkOptions<Q>(options: RequestOptions<Q>): void {
  checkRequestOptions(options);
  checkFunctions(options, 'isEssential', 'onDisposeError');
  if (options.maxRequests !== undefined) checkCount('maxRequests', options.maxRequests);
}
