import { all, inject, injectable, lazy, optional, Registration } from '@ambit/container';
import { exactly, type Clock, type Logger, type Pool } from './services.js';

class Fits {
  static inject = ['ILogger', lazy('IClock'), optional('IPool')] as const;
  constructor(
    readonly logger: Logger,
    readonly clock: () => Clock,
    readonly pool?: Pool,
  ) {}
}
exactly<Registration<Fits>>()(Registration.fromClass(Fits))(true);
Registration.fromClass(Fits).to('IAnything');

class Inherits extends Fits {}
Registration.fromClass(Inherits);

// What is no list of keys is none of ours.
class OfAnotherLibrary {
  static inject(key: string): string {
    return key;
  }
}
Registration.fromClass(OfAnotherLibrary);
Registration.fromClass<object>(OfAnotherLibrary);

// Without `as const` the compiler knows no position.
class Widened {
  static inject = ['IClock'];
  constructor(readonly logger: Logger) {}
}
Registration.fromClass(Widened);

class Wrong {
  static inject = ['IClock'] as const;
  constructor(readonly logger: Logger) {}
}
// error: 'IClock' does not fit parameter 0
Registration.fromClass(Wrong);
Registration.fromClass(Wrong, ['ILogger']);

class TooFew {
  static inject = ['ILogger'] as const;
  constructor(
    readonly logger: Logger,
    readonly clock: Clock,
  ) {}
}
// error: parameter 1 has no key
Registration.fromClass(TooFew);

class TooMany {
  static inject = ['ILogger', 'IClock'] as const;
  constructor(readonly logger: Logger) {}
}
// error: there is no parameter 1
Registration.fromClass(TooMany);

@injectable('ILogger', all('IClock'), optional('IPool'))
class Decorated {
  constructor(
    readonly logger: Logger,
    readonly clocks: Clock[],
    readonly pool?: Pool,
  ) {}
}

// error: 'IClock' does not fit parameter 0
@injectable('IClock')
class WrongDecorated {
  constructor(readonly logger: Logger) {}
}

// error: parameter 0 has no key
@injectable()
class Missing {
  constructor(readonly logger: Logger) {}
}

// error: there is no parameter 1
@injectable('ILogger', 'IClock')
class OneTooMany {
  constructor(readonly logger: Logger) {}
}

export const used = [inject, Decorated, WrongDecorated, Missing, OneTooMany];
