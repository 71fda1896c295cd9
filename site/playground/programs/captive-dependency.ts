// The cache exists once for the application. If it kept the user of one request, the next request would see that user.
import { Container, hasTag, Registration, scope, singleton } from '@ambit/container';
import { verify } from '@ambit/container/tools';

class CurrentUser {
  readonly name = 'Ada';
}
class Cache {
  readonly user: CurrentUser;
  constructor(user: CurrentUser) {
    this.user = user;
  }
}

const app = new Container({ tags: ['application'] }).addRegistration(
  Registration.fromClass(CurrentUser)
    .pipe(singleton(), scope(hasTag('request')))
    .to('CurrentUser'),
  // To fix it, make it one for each request, too: .pipe(singleton(), scope(hasTag('request')))
  Registration.fromClass(Cache, ['CurrentUser'])
    .pipe(singleton(), scope(hasTag('application')))
    .to('Cache'),
);

verify(app, { tags: ['request'] }); // refuses to start
console.log('The graph is sound.');
