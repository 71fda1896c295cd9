import type { IContainer } from '@ambit/container';
import { HttpError } from './errors.js';

declare global {
  namespace Express {
    interface Request {
      /** The scope of this request. Set by `containerMiddleware()`, ended when the request ends. */
      container: IContainer;
      /** The scope of the open transaction. Set by `withTransaction()`. */
      transactionScope?: IContainer;
    }
  }
}

declare module '@ambit/container' {
  interface ServiceMap {
    /** Aborts when the client is gone before it was answered. In every request scope. */
    IRequestSignal: AbortSignal;
  }
}

/** What the helpers need of a request, whatever its params and body. */
export interface ExpressRequest {
  readonly container: IContainer;
}

export function scopeOf(req: Partial<ExpressRequest>, who: string): IContainer {
  if (req.container) return req.container;
  throw new HttpError('AMBIT_HTTP_NO_REQUEST_SCOPE', who);
}
