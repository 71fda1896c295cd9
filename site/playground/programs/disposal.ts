// A scope disposes what it created, in reverse order, once.
import { Container, hasTag, Registration, scope, singleton } from '@ambit/container';

class Connection {
  dispose() {
    console.log('connection closed');
  }
}
class Users {
  readonly connection: Connection;
  constructor(connection: Connection) {
    this.connection = connection;
  }
  async dispose() {
    console.log('users flushed');
  }
}

const perRequest = [singleton(), scope(hasTag('request'))] as const;
const app = new Container({ tags: ['application'] }).addRegistration(
  Registration.fromClass(Connection)
    .pipe(...perRequest)
    .to('Connection'),
  Registration.fromClass(Users, ['Connection'])
    .pipe(...perRequest)
    .to('Users'),
);

const request = app.createScope({ tags: ['request'] });
request.resolve('Users');
await request.dispose();
await request.dispose(); // nothing happens twice
