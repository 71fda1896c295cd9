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

const lists = { circular: ['Orders'], lazy: [lazy('Orders')] } as const;
for (const [name, needs] of Object.entries(lists)) {
  const app = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromClass(Orders, ['Invoices']).pipe(singleton()).to('Orders'),
    Registration.fromFactory((orders) => new Invoices(orders as () => Orders), needs)
      .pipe(singleton())
      .to('Invoices'),
  );
  try {
    const orders = app.resolve<Orders>('Orders');
    console.log(`${name}: resolved, and the same one:`, orders.invoices.orders() === orders);
  } catch (error) {
    console.log(`${name}: ${(error as Error).message}`);
  }
}
