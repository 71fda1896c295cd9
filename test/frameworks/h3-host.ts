import type { IContainer } from '@ambit/container';
import { respondInScope, respondInTransaction } from '@ambit/fetch/host';
import {
  prepareTransactionOptions,
  RequestScopes,
  type RequestScopesOptions,
  type RequestTransactionOptions,
} from '@ambit/http/host';
import { type H3Event, type Middleware, toResponse } from 'h3';

/** Opens a scope for each request, as `event.context.container`. */
export function scopes(
  container: IContainer | ((event: H3Event) => IContainer | Promise<IContainer>),
  options: RequestScopesOptions<H3Event> = {},
): { readonly middleware: Middleware; readonly drain: () => Promise<void> } {
  const requests = new RequestScopes<H3Event>(container, options, 'scopes()');
  return {
    middleware: (event, next) => {
      const { method, signal } = event.req;
      return respondInScope(requests, { request: event, context: undefined, method, signal }, async (active) => {
        event.context['container'] = active.scope;
        return toResponse(await next(), event);
      });
    },
    drain: () => requests.drain(),
  };
}

/** Runs the handler behind it in a transaction, whose scope is `event.context.transactionScope`. */
export function transaction(options: RequestTransactionOptions<H3Event> = {}): Middleware {
  const prepare = prepareTransactionOptions(options);
  return (event, next) => {
    const scope = event.context['container'] as IContainer;
    return respondInTransaction(scope, prepare(event), event.req, async (transactionScope) => {
      event.context['transactionScope'] = transactionScope;
      return toResponse(await next(), event);
    });
  };
}
