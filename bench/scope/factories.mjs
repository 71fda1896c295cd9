/** The request's three services as the functions that users would write in place of classes. */
import { Audit, Context, LoggedAudit, LoggedContext, LoggedUsers, Users } from './classes.mjs';

/** Called with the dependencies. A parameter is named after its key: one peer reads those names. */
export const listed = {
  context: (config) => new Context(config),
  users: (pool, context) => new Users(pool, context),
  audit: (log, context) => new Audit(log, context),
};

/** The decorators, one for each service. */
export const wraps = {
  context: (inner) => new LoggedContext(inner),
  users: (inner) => new LoggedUsers(inner),
  audit: (inner) => new LoggedAudit(inner),
};
