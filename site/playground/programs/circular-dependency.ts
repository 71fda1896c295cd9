// Two services that need each other: the error names the whole way. lazy() gives one of them a function instead.
import { Container, lazy, Registration, singleton } from '@ambit/container';

class Orders {
  readonly invoices: Invoices;
  constructor(invoices: Invoices) {
    this.invoices = invoices;
  }
}
class Invoices {
  readonly orders: () => Orders;
  constructor(orders: () => Orders) {
    this.orders = orders;
  }
}

const orders = Registration.fromClass(Orders, ['Invoices']).pipe(singleton()).to('Orders');
const circular = new Container({ tags: ['application'] }).addRegistration(
  orders,
  Registration.fromFactory((made: unknown) => new Invoices(() => made as Orders), ['Orders'])
    .pipe(singleton())
    .to('Invoices'),
);
try {
  circular.resolve('Orders');
} catch (error) {
  console.log((error as Error).message);
}

const lazily = new Container({ tags: ['application'] }).addRegistration(
  orders,
  Registration.fromClass(Invoices, [lazy('Orders')])
    .pipe(singleton())
    .to('Invoices'),
);
const resolved = lazily.resolve<Orders>('Orders');
console.log('the same one:', resolved.invoices.orders() === resolved);
