import { InjectScoped } from '@ambit/nest';
import { type CanActivate, Injectable, UnauthorizedException } from '@nestjs/common';

const TOKENS: ReadonlyMap<string, string> = new Map([
  ['Bearer ada-token', 'Ada'],
  ['Bearer bob-token', 'Bob'],
]);

/** Who sent the request. One per request, made where it is first used. */
export class Caller {
  readonly name: string;

  constructor(authorization: string) {
    const name = TOKENS.get(authorization);
    if (name === undefined) throw new UnauthorizedException('The token is not known');
    this.name = name;
  }
}

/** One for the application: `caller` finds that of the request at each use. */
@Injectable()
export class KnownCallers implements CanActivate {
  constructor(@InjectScoped('ICaller') private readonly caller: Caller) {}

  canActivate(): boolean {
    return this.caller.name !== '';
  }
}
