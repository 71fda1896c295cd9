import type { ErrorRequestHandler } from 'express';

/** Messages by field, as the RealWorld API sends them. */
export type Messages = Readonly<Record<string, readonly string[]>>;

/** A request that is refused on purpose. */
export class ApiError extends Error {
  readonly status: number;
  readonly errors: Messages;

  constructor(status: number, errors: Messages) {
    super(JSON.stringify(errors));
    this.status = status;
    this.errors = errors;
  }
}

export const notFound = (what: string): ApiError => new ApiError(404, { [what]: ['not found'] });

/** Every error ends here. If it was thrown in a transaction, that has been rolled back. */
export const sendError: ErrorRequestHandler = (error, _req, res, next) => {
  const { status = 500, errors, sqlState, expose } = error;
  if (res.headersSent) next(error);
  else if (errors) res.status(status).json({ errors });
  // The SQLSTATE of a unique index, also on SQLite.
  else if (sqlState === '23505') res.status(409).json({ errors: { body: ['exists already'] } });
  // What the body parser refuses, and what may succeed when it is sent again.
  else if (expose || status === 503) res.status(status).json({ errors: { body: [error.message] } });
  else {
    console.error(error);
    res.status(500).json({ errors: { body: ['could not be processed'] } });
  }
};
