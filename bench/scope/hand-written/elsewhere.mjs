/** Off the main path: what one would write in place of a container that does the work. */
import { Audit, Context, Users, chain } from '../classes.mjs';
import { listed, wraps } from '../factories.mjs';
import { handWritten } from '../generated.mjs';
import { JOB } from '../operations.mjs';
import { use } from '../use.mjs';
import { Application, Request, three } from './main-path.mjs';

class MadeByFactories {
  constructor(app, make) {
    this.app = app;
    this.context = make.context(app.config);
    this.users = make.users(app.pool, this.context);
    this.audit = make.audit(app.log, this.context);
  }
  async dispose() {}
}

class Decorated {
  constructor(app, wrap) {
    this.app = app;
    this.context = wrap.context(new Context(app.config));
    this.users = wrap.users(new Users(app.pool, this.context));
    this.audit = wrap.audit(new Audit(app.log, this.context));
  }
  async dispose() {}
}

class Job {
  constructor(app) {
    this.app = app;
    this.context = new Context(app.config);
    this.users = new Users(app.pool, this.context);
    this.audit = new Audit(app.log, this.context);
  }
  async dispose() {}
}

class Tenant {
  constructor(app, tags) {
    this.app = app;
    this.tags = tags;
  }
  async dispose() {}
}

class Tagged {
  constructor(app, tags) {
    this.tags = tags;
    this.context = new Context(app.config);
    this.users = new Users(app.pool, this.context);
    this.audit = new Audit(app.log, this.context);
  }
  async dispose() {}
}

class OuterRequest {
  constructor(app) {
    this.app = app;
    this.context = new Context(app.config);
  }
  async dispose() {}
}

class Transaction {
  constructor(request) {
    this.context = request.context;
    this.users = new Users(request.app.pool, this.context);
    this.audit = new Audit(request.app.log, this.context);
  }
  async dispose() {}
}

class WithValues {
  constructor(app) {
    this.context = new Context(app.config);
    this.users = new Users(app.pool, this.context);
    this.audit = new Audit(app.log, this.context);
    this.values = new Map();
  }
  find(key) {
    return this.values.get(key);
  }
  async dispose() {}
}

class Child {
  constructor(parent) {
    this.parent = parent;
    this.values = new Map();
  }
  find(key) {
    return this.values.get(key) ?? this.parent.find(key);
  }
  async dispose() {}
}

class Ten {
  constructor() {
    const [D0, D1, D2, D3, D4, D5, D6, D7, D8, D9] = chain;
    this.d0 = new D0();
    this.d1 = new D1(this.d0);
    this.d2 = new D2(this.d0, this.d1);
    this.d3 = new D3(this.d1, this.d2);
    this.d4 = new D4(this.d2, this.d3);
    this.d5 = new D5(this.d3, this.d4);
    this.d6 = new D6(this.d4, this.d5);
    this.d7 = new D7(this.d5, this.d6);
    this.d8 = new D8(this.d6, this.d7);
    this.d9 = new D9(this.d7, this.d8);
  }
  async dispose() {}
}

const get = (scope, key) => scope[key];
const close = (scope) => scope.dispose();

/** A request of the main path, in an application of its own, with what the work asks for beyond that. */
const main = (more) => () => {
  const app = new Application();
  return { app, open: () => new Request(app), get, close, visit: three, ...more?.(app) };
};
const values = main((app) => ({
  open: () => new WithValues(app),
  child: (request) => new Child(request),
  value: (scope, key, value) => scope.values.set(key, value),
  register: (scope, key, make) => scope.values.set(key, make),
  get: (scope, key) => scope.find(key)(),
}));
const tags = main(() => ({ tagged: (app, ...own) => new Tagged(app, own) }));
const tagsOnTwoLevels = main((app) => ({
  tagged: (parent, ...own) => (parent === app ? new Tenant(app, own) : new Tagged(parent.app, own)),
}));

const code = new Map();
/** Code is there before a program starts: it is written when the work is prepared. */
export const write = (services) => code.set(services, handWritten(services));

const generated = (services) => {
  const { Application: Whole, Request: Part, get: find } = code.get(services);
  const app = new Whole();
  return { app, open: () => new Part(app), get: find, close, visit: use };
};

export const elsewhere = {
  factories: main((app) => ({ open: () => new MadeByFactories(app, listed) })),
  'scope-factories': main((app) => ({ open: () => new MadeByFactories(app, listed) })),
  decorators: main((app) => ({ open: () => new Decorated(app, wraps) })),
  'two-kinds': main(() => ({ child: (app, [tag]) => (tag === JOB[0] ? new Job(app) : new Request(app)) })),
  'two-tags': main(() => ({ child: (app, own) => new Tagged(app, own) })),
  'three-levels': main((app) => ({
    open: () => new OuterRequest(app),
    transaction: (request) => new Transaction(request),
  })),
  value: () => ({ ...values(), get: (scope, key) => scope.find(key) }),
  register: values,
  'new-key': values,
  'late-register': values,
  'tags-300': tags,
  'tags-5000': tags,
  'after-5000': main(),
  fresh: () => ({ app: new Ten(), get, close }),
  'fresh-cold': () => ({ app: new Ten(), get, close }),
  'cold-5000': generated,
  'wide-300': generated,
  'keys-1000': values,
  'keys-4000': values,
  'keys-10000': values,
  'tags-200x200': tagsOnTwoLevels,
  override: main((app) => ({
    faked(Fake) {
      const { config } = app;
      app.config = new Fake();
      return { scope: new Request(app), restore: () => (app.config = config) };
    },
  })),
};
