// Decorators of parameters, which need "experimentalDecorators".
import { Container, inject, MetadataInjector, Registration } from '@ambit/container';
import { equal, probe } from '../probe.js';

class Pool {
  readonly url: string = 'postgres://localhost';
}

class Users {
  constructor(@inject('IPool') readonly pool: Pool) {}
}

export async function legacy(): Promise<string> {
  const app = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    Registration.fromClass(Pool).to('IPool'),
    Registration.fromClass(Users).to('IUsers'),
  );
  equal(app.resolve<Users>('IUsers').pool.url, 'postgres://localhost', 'the pool of the users');
  return probe();
}
