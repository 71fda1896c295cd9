// TypeScript whose types are only stripped: no decorators, no parameter properties.
import { Container, lifetimes, type Services } from '@ambit/container';
import { equal, probe } from './probe.js';

class Pool {
  readonly url: string;
  constructor(url: string) {
    this.url = url;
  }
}

const { of, value, build } = lifetimes('application');
const app = build({ url: value('postgres://localhost'), IPool: of('application', Pool, ['url']) });
const container = new Container().addRegistration(...app.registrations);
const pool = container.resolve<Services<typeof app>['IPool']>('IPool');
equal(pool.url, 'postgres://localhost', 'the url of the pool');
console.log(await probe());
