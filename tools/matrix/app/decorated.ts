// Decorators of ECMAScript, checked by the compiler.
import { Container, injectable, Registration } from '@ambit/container';
import { equal, probe } from './probe.js';

class Pool {
  readonly url: string = 'postgres://localhost';
}

@injectable('IPool')
class Users {
  readonly pool: Pool;
  constructor(pool: Pool) {
    this.pool = pool;
  }
}

export async function decorated(): Promise<string> {
  const app = new Container().addRegistration(
    Registration.fromClass(Pool).to('IPool'),
    Registration.fromClass(Users).to('IUsers'),
  );
  equal(app.resolve<Users>('IUsers').pool.url, 'postgres://localhost', 'the pool of the users');
  return probe();
}
