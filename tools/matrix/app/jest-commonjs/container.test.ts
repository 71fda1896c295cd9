import { Container, Registration, singleton } from '@ambit/container';
import { verify } from '@ambit/container/tools';

class Pool {
  isOpen = true;
  dispose() {
    this.isOpen = false;
  }
}

test('the container works', async () => {
  const app = new Container().addRegistration(Registration.fromClass(Pool).pipe(singleton()).to('IPool'));
  verify(app);
  const pool = app.resolve<Pool>('IPool');
  await app.dispose();
  expect(pool.isOpen).toBe(false);
});
