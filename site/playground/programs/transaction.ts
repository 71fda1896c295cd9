// Three scopes, one in the other. What belongs to a scope is the same in all scopes below it.
import { Container, lifetimes, onDispose } from '@ambit/container';
import { verify } from '@ambit/container/tools';

class Clock {
  now = () => new Date().toISOString();
}
class Audit {
  readonly clock: Clock;
  constructor(clock: Clock) {
    this.clock = clock;
  }
  write = (what: string) => console.log(`${this.clock.now().slice(0, 4)} ${what}`);
}
class Orders {
  readonly audit: Audit;
  readonly connection: { query(sql: string): void };
  constructor(connection: { query(sql: string): void }, audit: Audit) {
    this.connection = connection;
    this.audit = audit;
  }
  create(product: string) {
    this.connection.query(`INSERT INTO orders VALUES ('${product}')`);
    this.audit.write(`ordered ${product}`);
  }
}

const { of, make, build } = lifetimes('application', 'request', 'transaction');
const app = build({
  clock: of('application', Clock),
  audit: of('request', Audit, ['clock']),
  connection: make('transaction', () => ({ query: (sql: string) => console.log(sql) })).pipe(
    onDispose(() => console.log('connection released')),
  ),
  orders: of('transaction', Orders, ['connection', 'audit']),
});
const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
verify(container, ...app.scopes);

const request = container.createScope({ tags: ['request'] });
const transaction = request.createScope({ tags: ['transaction'] });
transaction.resolve<Orders>('orders').create('apple');
console.log('one audit log for both:', transaction.resolve('audit') === request.resolve('audit'));
await container.dispose(); // disposes the scopes below first
