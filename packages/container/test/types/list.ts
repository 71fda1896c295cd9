import { all, lazy, optional, Registration } from '@ambit/container';
import {
  CLOCK,
  ConsoleLogger,
  exactly,
  Pool,
  Store,
  SystemClock,
  type Clock,
  type Logger,
  type Repository,
  type User,
} from './services.js';

class Two {
  constructor(
    readonly logger: Logger,
    readonly clock: Clock,
  ) {}
}

class Trailing {
  constructor(
    readonly logger: Logger,
    readonly clock?: Clock,
    readonly port: string | number = 80,
  ) {}
}

class Rest {
  readonly clocks: Clock[];
  constructor(
    readonly logger: Logger,
    ...clocks: Clock[]
  ) {
    this.clocks = clocks;
  }
}

class None {}

class Inherited extends Two {}

class Generic<T> {
  constructor(
    readonly users: Repository<T>,
    readonly logger: Logger,
  ) {}
}

class Hidden {
  constructor(
    private readonly pool: Pool,
    protected readonly store: Store,
  ) {
    void this.pool;
  }
}

Registration.fromClass(Two, ['ILogger', 'IClock']);
Registration.fromClass(Two, ['ILogger', CLOCK]);
Registration.fromClass(Two, [ConsoleLogger, SystemClock]);
Registration.fromClass(Two, ['IAnything', Symbol('anything')]);
Registration.fromClass(Trailing, ['ILogger']);
Registration.fromClass(Trailing, ['ILogger', 'IClock']);
Registration.fromClass(Trailing, ['ILogger', 'IClock', 'IPort']);
Registration.fromClass(Trailing, ['ILogger', optional('IClock')]);
Registration.fromClass(Rest, ['ILogger']);
Registration.fromClass(Rest, ['ILogger', 'IClock', CLOCK, 'IAnything']);
Registration.fromClass(None, []);
Registration.fromClass(Inherited, ['ILogger', 'IClock']);
Registration.fromClass(Generic<User>, ['IUsers', 'ILogger']);
Registration.fromClass(Hidden, ['IPool', 'IStore']);
Registration.fromClass(
  class {
    constructor(
      readonly make: () => Logger,
      readonly every: readonly Clock[],
    ) {}
  },
  [lazy('ILogger'), all('IClock')],
);
Registration.fromClass(URL, ['IAddress', 'IBase']);

const names = ['ILogger', 'IClock'] as const;
Registration.fromClass(Two, names);

exactly<Registration<Two>>()(Registration.fromClass(Two, ['ILogger', 'IClock']))(true);
exactly<Registration<Two>>()(Registration.fromClass(Two))(true);
exactly<Registration<Generic<User>>>()(Registration.fromClass(Generic<User>, ['IUsers', 'ILogger']))(true);

// A wrong service at a position.
// error: 'IClock' does not fit parameter 0
Registration.fromClass(Two, ['IClock', 'IClock']);
// error: 'ILogger' does not fit parameter 1
Registration.fromClass(Two, ['ILogger', 'ILogger']);
// error: Logger, Clock
Registration.fromClass(Two, ['ILogger', 'ILogger']);
// error: 'ILogger' does not fit parameter 1
Registration.fromClass(Trailing, ['ILogger', 'ILogger']);
// error: 'ILogger' does not fit parameter 2
Registration.fromClass(Rest, ['ILogger', 'IClock', 'ILogger']);
// error: a class key does not fit parameter 1
Registration.fromClass(Two, ['ILogger', ConsoleLogger]);
// error: lazy('ILogger') does not fit parameter 0
Registration.fromClass(Two, [lazy('ILogger'), 'IClock']);
// error: all('IClock') does not fit parameter 1
Registration.fromClass(Two, ['ILogger', all('IClock')]);
// error: optional('IClock') does not fit parameter 1
Registration.fromClass(Two, ['ILogger', optional('IClock')]);
// error: 'IUsers' does not fit parameter 0
Registration.fromClass(Generic<Logger>, ['IUsers', 'ILogger']);
// error: 'IPool' does not fit parameter 1
Registration.fromClass(Hidden, ['IPool', 'IPool']);

// The wrong order is wrong at both.
// error: 'IClock' does not fit parameter 0
// error: 'ILogger' does not fit parameter 1
Registration.fromClass(Two, ['IClock', 'ILogger']);

// A parameter without a key.
// error: parameter 1 has no key
Registration.fromClass(Two, ['ILogger']);
// error: parameter 0 has no key
Registration.fromClass(Two, []);
// error: parameter 0 has no key
Registration.fromClass(Trailing, []);
// error: parameter 0 has no key
Registration.fromClass(Rest, []);

// A key without a parameter.
// error: there is no parameter 2
Registration.fromClass(Two, ['ILogger', 'IClock', 'IPort']);
// error: there is no parameter 0
Registration.fromClass(None, ['ILogger']);
// error: there is no parameter 3
Registration.fromClass(Trailing, ['ILogger', 'IClock', 'IPort', 'IPool']);

// error: undefined
Registration.fromClass(Two, ['ILogger', undefined]);

class Several {
  constructor(logger: Logger);
  constructor(logger: Logger, clock: Clock);
  constructor(
    readonly logger: Logger,
    readonly clock?: Clock,
  ) {}
}

// Of several constructors the last one counts.
Registration.fromClass(Several, ['ILogger', 'IClock']);
// error: parameter 1 has no key
Registration.fromClass(Several, ['ILogger']);
