import { Container, Registration, type Delivered, type IContainer } from '@ambit/container';
import { CLOCK, exactly, Pool, Store, type Clock, type Logger, type Repository, type User } from './services.js';

const scope = new Container().createScope({ tags: ['request'] });

// A key of the map has its type, without an annotation.
exactly<Logger>()(scope.resolve('ILogger'))(true);
exactly<Repository<User>>()(scope.resolve('IUsers'))(true);
exactly<string | number>()(scope.resolve('IPort'))(true);
exactly<Clock>()(scope.resolve(CLOCK))(true);
exactly<Logger[]>()(scope.resolveAll('ILogger'))(true);
exactly<Logger | Clock>()(scope.resolve('ILogger' as 'ILogger' | 'IClock'))(true);

// error: missing in type 'Logger' but required in type 'Clock'
const clock: Clock = scope.resolve('ILogger');

// A key outside the map is what the caller says, and unknown otherwise.
exactly<Date>()(scope.resolve<Date>('IStart'))(true);
exactly<Date>()(scope.resolve<Date>(Symbol('start')))(true);
exactly<Date[]>()(scope.resolveAll<Date>('IStart'))(true);
exactly<unknown>()(scope.resolve('IStart'))(true);
exactly<unknown>()(scope.resolve(Symbol('start')))(true);
exactly<unknown[]>()(scope.resolveAll('IStart'))(true);

// A class is its own key, abstract or not.
exactly<Pool>()(scope.resolve(Pool))(true);
exactly<Store>()(scope.resolve(Store))(true);
exactly<Pool[]>()(scope.resolveAll(Pool))(true);

// Of a generic class nothing is known of its parameter.
class Page<T> {
  constructor(readonly items: T[]) {}
}
abstract class Bounded<T extends Logger> {
  constructor(readonly logger: T) {}
}
exactly<Page<unknown>>()(scope.resolve(Page))(true);
exactly<Page<unknown>[]>()(scope.resolveAll(Page))(true);
exactly<Page<Date>>()(scope.resolve<Page<Date>>(Page))(true);
exactly<Page<Date>>()(scope.resolve(Page<Date>))(true);
exactly<Bounded<Logger>>()(scope.resolve(Bounded))(true);
exactly<Page<unknown>>()((scope as IContainer).resolve(Page))(true);
exactly<Page<unknown>>()(null as unknown as Delivered<typeof Page>)(true);
exactly<Registration<Page<unknown>>>()(Registration.fromClass(Page))(true);
Registration.fromFactory((page) => exactly<Page<unknown>>()(page)(true), [Page]);

// Nothing else is a key.
// error: No overload matches this call
scope.resolve(1);
// error: No overload matches this call
scope.resolve(undefined);
