import { Audit, Config, Context, Log, Pool, Users } from '../scope/classes.mjs';

/** The application singletons. */
export class Application {
  config = new Config();
  pool = new Pool(this.config);
  log = new Log(this.config);
}

/** The hand-written request scope. */
export class RequestScope {
  constructor(app) {
    this.context = new Context(app.config);
    this.users = new Users(app.pool, this.context);
    this.audit = new Audit(app.log, this.context);
  }
  async dispose() {}
}

/** Checks that the three instances depend on each other as they should; every body has the same length. */
export function bodyOf(users, audit, context) {
  const shared = users instanceof Users && audit instanceof Audit && users.context === context;
  return { shared: shared && audit.context === context };
}

/** The graph above, in terms of a container: `add(lifetime, key, type, ...deps)`. */
export function describe(add) {
  add('app', 'config', Config);
  add('app', 'pool', Pool, 'config');
  add('app', 'log', Log, 'config');
  add('request', 'context', Context, 'config');
  add('request', 'users', Users, 'pool', 'context');
  add('request', 'audit', Audit, 'log', 'context');
}
