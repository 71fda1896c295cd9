// Lists of keys instead of decorators: removing the types is all that this needs of a compiler.
import { Container, lifetimes, onDispose, type Services } from '@ambit/container';

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

const { of, registered, build } = lifetimes('application', 'request');
const graph = build({
  IName: registered('request').as<string>(),
  IVisits: of('application', Visits),
  // The compiler compares the list with the parameters of the constructor, one by one.
  IGreeter: of('request', Greeter, ['IName', 'IVisits']).pipe(
    onDispose(({ name }) => console.log(`Scope of ${name} disposed`)),
  ),
});
declare module '@ambit/container' {
  interface ServiceMap extends Services<typeof graph> {}
}

const app = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);

for (const name of ['Ada', 'Grace']) {
  const request = app.createScope({ tags: ['request'] });
  request.register('IName', () => name);
  console.log(request.resolve('IGreeter').greet());
  await request.dispose();
}
await app.dispose();
