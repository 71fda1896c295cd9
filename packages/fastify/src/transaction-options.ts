import type { HeldResponseOptions } from '@ambit/http/host';
import type { TransactionError, TransactionOptions } from '@ambit/transaction';
import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Runs the handler of the route in a transaction: BEGIN before it, COMMIT before its response is sent. */
    readonly transaction?: boolean | RouteTransactionOptions;
  }
}

/** What every transaction is begun with, unless `startTransaction(options)` or the route says otherwise. */
export interface TransactionPluginOptions extends Omit<TransactionOptions, 'onError' | 'signal'> {
  /** Called with failures that change no outcome. Default: the request's log. */
  readonly onError?: (error: TransactionError, request: FastifyRequest) => void;
}

/** The terms of a route with `config: { transaction: ... }`; for what they leave open, the plugin's options hold. */
export interface RouteTransactionOptions
  extends TransactionPluginOptions, Pick<HeldResponseOptions<FastifyRequest>, 'rollbackOn'> {}
