import * as classes from './classes.mjs';
import { use } from './works.mjs';

const { Config, Pool, Log, Context, DisposableContext, Users, Audit } = classes;

class Application {
  config = new Config();
  pool = new Pool(this.config);
  log = new Log(this.config);
}

class Request {
  constructor(app) {
    this.app = app;
    this.context = new Context(app.config);
    this.users = new Users(app.pool, this.context);
    this.audit = new Audit(app.log, this.context);
  }
  get config() {
    return this.app.config;
  }
  async dispose() {}
}

class DisposableRequest {
  constructor(app) {
    this.context = new DisposableContext(app.config);
    this.users = new Users(app.pool, this.context);
    this.audit = new Audit(app.log, this.context);
  }
  async dispose() {
    await this.context.dispose();
  }
}

class DeepRequest {
  constructor() {
    this.d0 = new classes.D0();
    this.d1 = new classes.D1(this.d0);
    this.d2 = new classes.D2(this.d0, this.d1);
    this.d3 = new classes.D3(this.d1, this.d2);
    this.d4 = new classes.D4(this.d2, this.d3);
    this.d5 = new classes.D5(this.d3, this.d4);
    this.d6 = new classes.D6(this.d4, this.d5);
    this.d7 = new classes.D7(this.d5, this.d6);
    this.d8 = new classes.D8(this.d6, this.d7);
    this.d9 = new classes.D9(this.d7, this.d8);
    this.d10 = new classes.D10(this.d8, this.d9);
    this.d11 = new classes.D11(this.d9, this.d10);
    this.d12 = new classes.D12(this.d10, this.d11);
    this.d13 = new classes.D13(this.d11, this.d12);
    this.d14 = new classes.D14(this.d12, this.d13);
    this.d15 = new classes.D15(this.d13, this.d14);
    this.d16 = new classes.D16(this.d14, this.d15);
    this.d17 = new classes.D17(this.d15, this.d16);
    this.d18 = new classes.D18(this.d16, this.d17);
    this.d19 = new classes.D19(this.d17, this.d18);
  }
  async dispose() {}
}

const three = (scope) => {
  use(scope.users);
  use(scope.audit);
  use(scope.context);
};

/** The class of a request, and how its services are reached. */
const written = {
  main: [Request, three],
  'main+end': [DisposableRequest, three],
  deep: [DeepRequest, (scope) => use(scope.d19)],
  hit: [Request, (scope) => use(scope.app.config)],
};

/** @type {import('./contestants.mjs').Contestant} */
export const hand = {
  title: 'hand-written',
  scopes: 'a class',
  disposal: 'awaited',
  setup(_services, work) {
    const app = new Application();
    const [Scope, visit] = written[work];
    return {
      open: () => new Scope(app),
      get: (scope, key) => scope[key],
      close: (scope) => scope.dispose(),
      visit,
    };
  },
};
