import { all, inject, lazy, optional } from '@ambit/container';
import {
  CLOCK,
  ConsoleLogger,
  LookAlike,
  Pool,
  Store,
  SystemClock,
  type Clock,
  type Logger,
  type Repository,
  type User,
} from './services.js';

const OTHER: unique symbol = Symbol('other');

class Fits {
  constructor(
    @inject('ILogger') public readonly logger: Logger,
    @inject('IClock') private readonly clock: Pick<Clock, 'now'>,
    @inject('IStore') protected readonly store: Store,
    @inject('IPool') readonly pool: Pool,
    @inject('IUsers') readonly users: Repository<User>,
    @inject('IPort') readonly port: string | number | boolean,
    @inject('ICache') readonly cache: Map<string, User> | undefined,
    @inject(CLOCK) readonly second: Clock,
    @inject(SystemClock) readonly third: Clock,
    @inject(Store) readonly base: Store,
    @inject('ILogger') readonly anything: unknown,
    @inject('ILogger') readonly optional?: Logger,
    @inject('ILogger') readonly defaulted: Logger = new ConsoleLogger(),
  ) {
    void this.clock;
  }
}

class Lists {
  constructor(
    @inject(lazy('ILogger')) readonly later: () => Logger,
    @inject(lazy(SystemClock)) readonly clock: () => Clock,
    @inject(all('IUsers')) readonly users: Repository<User>[],
    @inject(all(CLOCK)) readonly clocks: readonly Clock[],
    @inject(all('ILogger')) readonly iterable: Iterable<Logger>,
  ) {}
}

class Optionals {
  constructor(
    @inject(optional('ILogger')) readonly logger: Logger | undefined,
    @inject(optional(CLOCK)) readonly clock?: Clock,
    @inject(optional(SystemClock)) readonly defaulted: Clock = new SystemClock(),
    @inject(optional('IAnything')) readonly anything?: Pool,
  ) {}
}

// A key outside the map may be anything.
class Unchecked {
  constructor(
    @inject('IAnything') readonly logger: Logger,
    @inject(OTHER) readonly clock: Clock,
    @inject('I' + 'Clock') readonly dynamic: Clock,
    @inject(lazy('IAnything')) readonly later: () => Clock,
    @inject(all('IAnything')) readonly clocks: Clock[],
  ) {}
}

class Generic<T extends object> {
  constructor(
    @inject('IUsers') readonly users: Repository<User>,
    @inject('IItems') readonly items: Repository<T>,
    @inject('ILogger') readonly logger?: Logger,
  ) {}
}

abstract class Abstract {
  constructor(@inject('ILogger') protected readonly logger: Logger) {}
}

class Derived extends Abstract {
  constructor(
    @inject('IClock') readonly clock: Clock,
    @inject('ILogger') logger: Logger,
  ) {
    super(logger);
  }
}

class Wrong {
  constructor(
    // error: 'IClock' does not fit parameter 0
    @inject('IClock') readonly logger: Logger,
    // error: 'ILogger' does not fit parameter 1
    @inject('ILogger') private readonly clock: Clock,
    // error: 'IPool' does not fit parameter 2
    @inject('IPool') protected readonly lookAlike: LookAlike,
    // error: 'ICache' does not fit parameter 3
    @inject('ICache') readonly cache: Map<string, User>,
    // error: 'IPort' does not fit parameter 4
    @inject('IPort') readonly port: number,
    // error: 'IPool' does not fit parameter 5
    @inject('IPool') readonly store: Store,
    // error: a symbol key does not fit parameter 6
    @inject(CLOCK) readonly users: Repository<User>,
    // error: a class key does not fit parameter 7
    @inject(SystemClock) readonly pool: Pool,
    // error: 'IClock' does not fit parameter 8
    @inject('IClock') readonly optional?: Logger,
    // error: 'IClock' does not fit parameter 9
    @inject('IClock') readonly defaulted: Logger = new ConsoleLogger(),
  ) {
    void this.clock;
  }
}

// The text has both types.
class Named {
  // error: Clock, Logger
  constructor(@inject('IClock') readonly logger: Logger) {}
}

class WrongLists {
  constructor(
    // error: lazy('IClock') does not fit parameter 0
    @inject(lazy('IClock')) readonly logger: () => Logger,
    // error: lazy('ILogger') does not fit parameter 1
    @inject(lazy('ILogger')) readonly notLazy: Logger,
    // error: 'ILogger' does not fit parameter 2
    @inject('ILogger') readonly notService: () => Logger,
    // error: all('IClock') does not fit parameter 3
    @inject(all('IClock')) readonly loggers: Logger[],
    // error: all('ILogger') does not fit parameter 4
    @inject(all('ILogger')) readonly notList: Logger,
    // error: all('IAnything') does not fit parameter 5
    @inject(all('IAnything')) readonly number: number,
    // error: lazy('IAnything') does not fit parameter 6
    @inject(lazy('IAnything')) readonly text: string,
  ) {}
}

class WrongOptionals {
  constructor(
    // error: optional('ILogger') does not fit parameter 0
    @inject(optional('ILogger')) readonly logger: Logger,
    // error: optional('ILogger') does not fit parameter 1
    @inject(optional('ILogger')) readonly clock: Clock | undefined,
    // error: optional('IAnything') does not fit parameter 2
    @inject(optional('IAnything')) readonly anything: Pool,
  ) {}
}

class WrongGeneric<T extends { readonly id: string }> {
  constructor(
    // error: 'IUsers' does not fit parameter 0
    @inject('IUsers') readonly items: Repository<{ readonly id: string }>,
    // error: 'ILogger' does not fit parameter 1
    @inject('ILogger') readonly item: T,
  ) {}
}

abstract class WrongAbstract {
  // error: 'IClock' does not fit parameter 0
  constructor(@inject('IClock') protected readonly logger: Logger) {}
}

class WrongDerived extends Abstract {
  constructor(
    // error: 'ILogger' does not fit parameter 0
    @inject('ILogger') readonly clock: Clock,
    @inject('ILogger') logger: Logger,
  ) {
    super(logger);
  }
}

class NotOnMethods {
  // error: Unable to resolve signature of parameter decorator
  log(@inject('ILogger') _logger: Logger): void {}
}

// error: is not assignable to parameter of type 'Dependency'
inject(1);

export {
  Derived,
  Fits,
  Generic,
  Lists,
  Named,
  NotOnMethods,
  Optionals,
  Unchecked,
  Wrong,
  WrongAbstract,
  WrongDerived,
  WrongGeneric,
  WrongLists,
  WrongOptionals,
};
