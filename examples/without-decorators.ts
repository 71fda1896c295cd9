// Lists of keys instead of decorators: removing the types is all that this needs of a compiler.
import { Container, hasTag, onDispose, Registration, scope, singleton } from '@ambit/container';

class Visits {
  count = 0;
}

class Greeter {
  readonly name: string;
  readonly visits: Visits;

  constructor(name: string, visits: Visits) {
    this.name = name;
    this.visits = visits;
  }

  greet(): string {
    this.visits.count += 1;
    return `Hello ${this.name}, you are visitor ${this.visits.count}`;
  }
}

declare module '@ambit/container' {
  interface ServiceMap {
    IName: string;
    IVisits: Visits;
    IGreeter: Greeter;
  }
}

const app = new Container({ tags: ['application'] }).addRegistration(
  Registration.fromClass(Visits).pipe(singleton()).to('IVisits'),
  // The compiler compares the list with the parameters of the constructor, one by one.
  Registration.fromClass(Greeter, ['IName', 'IVisits'])
    .pipe(
      singleton(),
      scope(hasTag('request')),
      onDispose(({ name }) => console.log(`Scope of ${name} disposed`)),
    )
    .to('IGreeter'),
);

for (const name of ['Ada', 'Grace']) {
  const request = app.createScope({ tags: ['request'] });
  request.register('IName', () => name);
  console.log(request.resolve('IGreeter').greet());
  await request.dispose();
}
await app.dispose();
